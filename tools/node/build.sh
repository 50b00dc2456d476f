#!/usr/bin/env bash
# Builds and installs, once, what a node needs, and prints the directory of its programs: Debian packages (as root),
# Kubernetes (with Go, see tools/cluster/build.sh) and virtshape's images (see tools/images). The first run takes minutes.
# With the argument `packages`, it only installs the packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
for package in $(grep -v '^#' tools/node/packages.txt); do
    dpkg-query --show --showformat '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" -eq 0 ] || { echo "As root: apt-get install --no-install-recommends ${missing[*]}" >&2; exit 1; }
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
[ "${1:-}" != packages ] || exit 0
started=$SECONDS
programs=$(bash tools/cluster/build.sh node)
echo "Programs of the node: $((SECONDS - started)) s" >&2
make images >&2
echo "Images of the node: $((SECONDS - started)) s" >&2
echo "$programs"
