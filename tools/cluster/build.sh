#!/usr/bin/env bash
# Builds the control plane that tests/cluster/go.mod names (etcd, kube-apiserver, kube-controller-manager), once,
# outside the tree, and prints the folder it is in. Needs Go and its module proxy; takes minutes the first time.
set -euo pipefail
cd "$(dirname "$0")/../../tests/cluster"

release=$(sed -n 's|^.*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' go.mod)
target=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/cluster-$release
stamp="-s -w -X k8s.io/component-base/version.gitVersion=v$release"

build() {
    [ -x "$target/$1" ] && return
    command -v go >/dev/null || {
        echo "$1 $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    echo "Building $1 for Kubernetes $release, once ..." >&2
    mkdir -p "$target"
    nice -n 15 go build -mod=readonly -trimpath -buildvcs=false -ldflags "$stamp" -o "$target/$1.$$" "$2"
    mv "$target/$1.$$" "$target/$1"
}

build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
echo "$target"
