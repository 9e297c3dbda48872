#!/bin/sh
# Make a virtual environment with the dependencies that a resolution picks, and the project installed editable.
#
#   tools/scripts/resolve.sh VENV RESOLUTION
#
# RESOLUTION is one of uv's: lowest-direct, highest. Without uv on PATH, uv is installed into the environment.
set -eu
cd "$(dirname "$0")/../.."

venv=$1 resolution=$2

rm -rf "$venv"
uv=$(command -v uv || true)
if [ -n "$uv" ]; then
    "$uv" venv --quiet --python "${PYTHON:-python3}" "$venv"
else
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install -qq uv
    uv=$venv/bin/uv
fi
UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 "$uv" pip install --quiet --python "$venv/bin/python" --resolution "$resolution" \
    --editable './runtime[all]' --editable . --group dev
