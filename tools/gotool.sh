#!/usr/bin/env bash
# Builds the tool of a go.mod once, outside the tree, and prints its path: gotool.sh NAME DIRECTORY
# The version is part of the file's name. Needs Go and its module proxy.
set -euo pipefail
name=$1
cd "$2"

package=$(sed -n 's|^tool \(.*\)|\1|p' go.mod)
release=$(sed -n "s|^\s*${package%%/cmd/*} v\([0-9.]*\).*|\1|p" go.mod)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/$name-$release

if [ ! -x "$target" ]; then
    command -v go >/dev/null || {
        echo "$name $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$(dirname "$target")"
    nice -n 15 go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$target.$$" "$package"
    mv "$target.$$" "$target"
fi
echo "$target"
