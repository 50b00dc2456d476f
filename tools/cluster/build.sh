#!/usr/bin/env bash
# Builds a control plane (etcd, kube-apiserver, kube-controller-manager) once, outside the tree, and prints its directory.
# The Kubernetes version is the one in tests/cluster/go.mod or, with the argument `oldest`, tests/cluster/oldest/go.mod.
# With the argument `node`, it also builds kubelet, kube-proxy and kube-scheduler, for tools/node.
# Needs Go and its module proxy; the first build takes minutes. To run the tests with another version:
#     KUBEBUILDER_ASSETS=$(bash tools/cluster/build.sh oldest) make test TESTS=tests/cluster
set -euo pipefail
modules=$(cd "$(dirname "$0")/../../tests/cluster" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape

build() { # the program's name, its package, its module
    [ -x "$target/$1" ] && return
    command -v go >/dev/null || {
        echo "$1 $release is built with Go, which is not on PATH." >&2
        exit 1
    }
    echo "Building $1 for Kubernetes $release, once ..." >&2
    mkdir -p "$target"
    local stamp="-s -w -X k8s.io/component-base/version.gitVersion=v$release"
    nice -n 15 go build -C "$3" -mod=readonly -trimpath -buildvcs=false -ldflags "$stamp" -o "$target/$1.$$" "$2"
    mv "$target/$1.$$" "$target/$1"
}

case ${1:-} in
"" | node) module=$modules prefix=cluster ;;
oldest) module=$modules/oldest prefix=oldest ;;
*)
    echo "Unknown control plane $1: use no argument, oldest, or node." >&2
    exit 2
    ;;
esac
release=$(sed -n 's|^.*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' "$module/go.mod")
target=$cache/$prefix-$release
build etcd go.etcd.io/etcd/server/v3 "$modules"
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$module"
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager "$module"
if [ "${1:-}" = node ]; then
    for program in kubelet kube-proxy kube-scheduler; do
        build $program k8s.io/kubernetes/cmd/$program "$module"
    done
fi
echo "$target"
