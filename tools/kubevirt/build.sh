#!/usr/bin/env bash
# Builds the programs of tests/kubevirt outside the tree, again if their source has changed, and prints their directory:
# KubeVirt's virtctl, its engine as an oracle, its functional specs of instance types, and virt-api with the objects that
# virt-operator would install for it. The version is that of go.mod.
# Needs Go and its module proxy; the first build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../../tests/kubevirt"

release=$(sed -n 's|^\tkubevirt.io/kubevirt v\([0-9.]*\).*|\1|p' go.mod)
stamp=$(cat ../../tools/kubevirt/build.sh go.mod go.sum ./*/*.go | sha256sum | cut -c1-12)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/kubevirt-$release-$stamp
flags=(-mod=readonly -trimpath -buildvcs=false -ldflags "-s -w -X kubevirt.io/client-go/version.gitVersion=v$release")
export CGO_ENABLED=0

build() { # the program's name, the command that builds it, its package
    [ -x "$target/$1" ] && return
    command -v go >/dev/null || {
        echo "KubeVirt's $1 $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    echo "Building KubeVirt's $1 $release, once ..." >&2
    mkdir -p "$target"
    nice -n 15 go $2 "${flags[@]}" -o "$target/$1.$$" "$3"
    mv "$target/$1.$$" "$target/$1"
}

build virtctl build kubevirt.io/kubevirt/cmd/virtctl
build oracle build ./oracle
build specs "test -c" ./specs
build objects build ./objects
build virt-api build kubevirt.io/kubevirt/cmd/virt-api
echo "$target"
