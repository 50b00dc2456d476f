#!/usr/bin/env bash
# Builds the version of kubectl in go.mod once, outside the tree, and prints its path. Needs Go and its module proxy.
set -euo pipefail
cd "$(dirname "$0")"

release=1.$(sed -n 's|^\s*k8s.io/kubectl v0\.||p' go.mod)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/kubectl-$release

if [ ! -x "$target" ]; then
    command -v go >/dev/null || {
        echo "kubectl $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    mkdir -p "$(dirname "$target")"
    stamp="-s -w -X k8s.io/component-base/version.gitVersion=v$release"
    go build -trimpath -buildvcs=false -ldflags "$stamp" -o "$target.$$" .
    mv "$target.$$" "$target"
fi
echo "$target"
