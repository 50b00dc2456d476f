#!/usr/bin/env bash
# Installs what `make images` and its tests need: mmdebstrap, zstd and buildah. Needs root if one of them is missing.
set -euo pipefail

missing=()
for program in mmdebstrap zstd buildah; do
    command -v $program >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || { echo "As root: apt-get install --no-install-recommends ${missing[*]}" >&2; exit 1; }
apt() { env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
apt update
apt install -y --no-install-recommends "${missing[@]}" >/dev/null
