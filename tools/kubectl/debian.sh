#!/usr/bin/env bash
# Fetches the kubectl that Debian has, once, outside the tree, and prints where it is. Needs apt, but neither root nor
# room on PATH: it is unpacked, not installed.
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
        echo "Apt knows no package kubernetes-client, or cannot reach it." >&2
        exit 1
    }
    dpkg-deb -x "$work"/kubernetes-client_*.deb "$work/unpacked"
    mkdir -p "$cache"
    mv "$work/unpacked/usr/bin/kubectl" "$target"
fi
echo "$target"
