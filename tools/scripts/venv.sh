#!/bin/sh
# Make or refresh a virtual environment from a hash-locked requirements file.
#
#   tools/scripts/venv.sh VENV LOCK [PROJECT ...]
#
# Each PROJECT is installed editable on top, without resolving or downloading anything more.
# uv does the work, which is installed into VENV where it is not on PATH; without it, pip does. $PYTHON picks the interpreter.
set -eu

venv=$1 lock=$2
shift 2
oldest='3.11'

fail() {
    echo "setup: $1" >&2
    exit 1
}

recent_enough() {
    "$1" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$oldest'.split('.'))))" >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        recent_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python $oldest or newer"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if recent_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    if command -v uv >/dev/null 2>&1; then
        echo ">=$oldest" # uv knows of more places, and can fetch one
        return
    fi
    fail "Python $oldest or newer is needed, python3 is $(python3 --version 2>/dev/null || echo missing); set PYTHON=/path/to/python"
}

# A venv of an interpreter that is gone leaves a dangling link: it counts as absent and is made again.
if [ ! -x "$venv/bin/python" ]; then
    python=$(find_python)
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --allow-existing --python "$python" "$venv"
    else
        "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
            fail "$python has no venv module or no ensurepip; install it (Debian, Ubuntu: apt install python3-venv) or install uv"
        "$python" -m venv "$venv"
    fi
fi
recent_enough "$venv/bin/python" || fail "$venv holds a Python older than $oldest; remove it and run again"

# As pip does, trust the certificates of the system; older releases of uv call this native TLS.
export UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
with_uv() { "$uv" pip install --quiet --python "$venv/bin/python" "$@"; }
with_pip() { "$venv/bin/python" -m pip --disable-pip-version-check install -qq "$@"; }

if uv=$(command -v uv); then
    install() { with_uv "$@"; }
else
    # uv makes environments without pip.
    "$venv/bin/python" -c 'import pip' 2>/dev/null || "$venv/bin/python" -m ensurepip >/dev/null
    # uv installs in a fifth of the time, but does not exist for every platform.
    if with_pip --require-hashes --requirement "$(dirname "$0")/../requirements/uv.txt" 2>/dev/null; then
        uv=$venv/bin/uv
        install() { with_uv "$@"; }
    else
        install() { with_pip "$@"; }
    fi
fi

install --require-hashes --requirement "$lock"
for project in "$@"; do
    install --no-deps --no-build-isolation --editable "$project"
done
