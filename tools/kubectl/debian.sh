#!/usr/bin/env bash
# Downloads Debian's kubectl once, outside the tree, and prints its path. Needs apt but not root: the package is
# unpacked, not installed.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape
target=$cache/kubectl-debian

if [ ! -x "$target" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || {
        echo "Debian's kubectl is fetched with apt, which is not on PATH." >&2
        exit 1
    }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    apt-get download -qq kubernetes-client >&2 || { apt-get update -qq && apt-get download -qq kubernetes-client; } >&2 || {
        echo "apt has no package kubernetes-client, or cannot download it." >&2
        exit 1
    }
    dpkg-deb -x "$work"/kubernetes-client_*.deb "$work/unpacked"
    mkdir -p "$cache"
    mv "$work/unpacked/usr/bin/kubectl" "$target"
fi
echo "$target"
