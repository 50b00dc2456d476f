#!/usr/bin/env bash
# Downloads Debian's Docker with containerd and runc once, outside the tree, and prints the directory of the programs.
# Needs apt but not root: the packages are unpacked, not installed, so no service is started.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape
target=$cache/docker-debian

if [ ! -x "$target/usr/sbin/dockerd" ]; then
    { command -v apt-get && command -v dpkg-deb; } >/dev/null || {
        echo "Debian's Docker is fetched with apt, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/docker.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    packages=(docker.io containerd runc)
    apt-get download -qq "${packages[@]}" >&2 || { apt-get update -qq && apt-get download -qq "${packages[@]}"; } >&2
    for package in *.deb; do
        dpkg-deb -x "$package" unpacked
    done
    unpacked/usr/sbin/dockerd --version >&2 # fails if a library is missing
    mv --no-target-directory unpacked "$target"
fi
echo "$target"
