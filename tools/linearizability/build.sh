#!/usr/bin/env bash
# Builds the checker of tests/linearizability outside the tree, again if its source has changed, and prints its path.
# Needs Go and its module proxy.
set -euo pipefail
cd "$(dirname "$0")/../../tests/linearizability"

stamp=$(cat ../../tools/linearizability/build.sh go.mod go.sum ./*.go | sha256sum | cut -c1-12)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/linearizability-$stamp
export CGO_ENABLED=0

if [ ! -x "$target" ]; then
    command -v go >/dev/null || {
        echo "The linearizability checker is built with Go, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$(dirname "$target")"
    nice -n 15 go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$target.$$" .
    mv "$target.$$" "$target"
fi
echo "$target"
