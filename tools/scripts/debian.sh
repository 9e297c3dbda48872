#!/bin/sh
# Install programs that tests run, from Debian's packages, unless they are there.
#
#   tools/scripts/debian.sh PROGRAM...        (a program is also the name of its package)
set -eu

missing=
for program in "$@"; do
    if [ -z "$(PATH="$PATH:/usr/sbin" command -v "$program")" ]; then missing="$missing $program"; fi
done
if [ -z "$missing" ]; then exit 0; fi

by_hand="install it yourself: apt-get install$missing"
if [ -z "$(command -v apt-get)" ]; then
    echo "missing:$missing; there is no apt-get here, $by_hand" >&2
    exit 1
fi
root=
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "missing:$missing; only root may install programs, $by_hand" >&2
        exit 1
    fi
    root='sudo -n'
fi
$root apt-get update -qq
$root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
