#!/usr/bin/env bash
# Acts as a new user on a fresh machine: clones the repository, runs make up, takes the README's tour until the demo
# guest has printed its report, and runs tests. With the argument `packages`, it stops after the setup.
set -euo pipefail
. /fresh/settings
export PIP_CACHE_DIR=/var/cache/downloads/pip UV_CACHE_DIR=/var/cache/downloads/uv

cd ~
[ -d virtshape ] || git -c advice.detachedHead=false -c init.defaultBranch=main clone --quiet /fresh/repository virtshape
cd virtshape
if [ "${1:-}" = packages ]; then
    exec make tour
fi

log=~/up.log
started=$SECONDS
make up UP="--listen 127.0.0.1:0" >"$log" 2>&1 &
server=$!
fail() { tail -n 40 "$log" >&2; echo "$*" >&2; exit 1; }

until grep -q '^virtshape is ready' "$log"; do
    kill -0 $server 2>/dev/null || fail "make up ended."
    sleep 1
done
echo "make up: ready after $((SECONDS - started)) s, $(.venv/bin/python --version), user $(id -u)"

. .venv/bin/activate
export KUBECONFIG=~/.local/state/virtshape/kubeconfig
report='virtctl console demo --log'
started=$SECONDS
while read -r command; do
    case $command in
        "$report"*) ;;
        *) eval "$command" || fail "The tour's command failed: $command" ;;
    esac
done < <(sed -n "/^## Five minutes with the server/,/^\$ $report/s/^\\\$ //p" README.md)
command=$(sed -n "s/^\\\$ \($report.*\)/\1/p" README.md | head -n 1)
expected=$(sed -n "/^\\\$ $report/{n;p;q}" README.md)
until [ "$(eval "$command" 2>/dev/null)" = "$expected" ]; do
    kill -0 $server 2>/dev/null || fail "The server ended."
    [ $((SECONDS - started)) -lt 900 ] || { kubectl get vm,vmi,events >&2; fail "The demo guest has not reported within 900 s."; }
    sleep 2
done
[ "$(kubectl get vm demo -o jsonpath='{.status.printableStatus}')" = Running ] || fail "The demo VM is not Running."
echo "demo guest: reported after $((SECONDS - started)) s: $expected"
kubectl get nodes -o jsonpath='{range .items[*].status.conditions[*]}{.type}={.status}: {.message}{"\n"}{end}'

kubectl delete vm demo >/dev/null
virtshape down
wait $server || fail "The server exited with an error."
rm -rf "$UV_CACHE_DIR"/sdists-* # wheels that were built here are built again the next time

if [ -n "$TESTS" ]; then
    started=$SECONDS
    # shellcheck disable=SC2086 # a list of paths
    make test TESTS="-q $TESTS"
    echo "tests: $((SECONDS - started)) s"
fi
