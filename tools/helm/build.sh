#!/usr/bin/env bash
# Builds the version of Helm in go.mod once, outside the tree, and prints its path. Needs Go and its module proxy.
set -euo pipefail
cd "$(dirname "$0")"

release=$(sed -n 's|^.*helm.sh/helm/v3 v\([0-9.]*\).*|\1|p' go.mod)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/helm-$release

if [ ! -x "$target" ]; then
    command -v go >/dev/null || {
        echo "Helm $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$(dirname "$target")"
    nice -n 15 go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w" -o "$target.$$" helm.sh/helm/v3/cmd/helm
    mv "$target.$$" "$target"
fi
echo "$target"
