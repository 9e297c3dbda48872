#!/bin/sh
# Write the hash-locked requirements of the project, of the site, of the peers of benchmarks and tests, and of uv.
#
#   tools/scripts/lock.sh [--upgrade]
#
# Versions already locked are kept unless --upgrade is given. One lock serves every platform and Python from 3.11 on.
# Without uv on PATH, uv is installed into a throw-away environment.
set -eu
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/python" -m pip --disable-pip-version-check install -qq uv
    uv=$scratch/venv/bin/uv
fi

lock() {
    output=$1
    shift
    draft=$scratch/lock.txt
    rm -f "$draft"
    if [ -f "$output" ]; then cp "$output" "$draft"; fi
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-emit-index-url --no-emit-find-links --no-emit-package mcp-bindgen \
        --no-emit-package mcp-bindings --output-file "$draft" "$@"
    { echo '# Written by `make lock`; do not edit.'; cat "$draft"; } >"$output"
}

lock tools/requirements/dev.txt --group dev "$@" pyproject.toml
lock tools/requirements/site.txt --constraint tools/requirements/dev.txt "$@" pyproject.toml tools/requirements/site.in
for name in uv bench-mcp interop-mcp-old interop-mcp1 interop-mcp2 interop-agents interop-tasks; do
    lock "tools/requirements/$name.txt" "$@" "tools/requirements/$name.in"
done
