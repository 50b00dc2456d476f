#!/usr/bin/env bash
# Builds the Go client for the tests outside the tree, again if its source has changed, and prints its path.
# Needs Go and its module proxy.
set -euo pipefail
cd "$(dirname "$0")"

stamp=$(cat ./*.go go.mod go.sum | sha256sum | cut -c1-12)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/goclient-$stamp

if [ ! -x "$target" ]; then
    command -v go >/dev/null || {
        echo "The Go client is built with Go, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$(dirname "$target")"
    nice -n 15 go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$target.$$" .
    mv "$target.$$" "$target"
fi
echo "$target"
