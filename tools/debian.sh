#!/usr/bin/env bash
# Downloads a program of a Debian package once, outside the tree, and prints its path: debian.sh PROGRAM PACKAGE
# Needs apt but not root: the package is unpacked, not installed.
set -euo pipefail
program=$1 package=$2

cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape
target=$cache/$program-debian

if [ ! -x "$target" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || {
        echo "Debian's $program is fetched with apt, which is not on PATH." >&2
        exit 1
    }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    apt-get download -qq "$package" >&2 || { apt-get update -qq && apt-get download -qq "$package"; } >&2 || {
        echo "apt has no package $package, or cannot download it." >&2
        exit 1
    }
    dpkg-deb -x "$work/$package"_*.deb "$work/unpacked"
    mkdir -p "$cache"
    mv "$work/unpacked/usr/bin/$program" "$target.$$"
    mv "$target.$$" "$target"
fi
echo "$target"
