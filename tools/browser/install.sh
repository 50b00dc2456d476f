#!/usr/bin/env bash
# Installs Debian's Chromium for the tests of the web console, and prints its path. Needs root if it is not installed.
set -euo pipefail

if ! command -v chromium >/dev/null; then
    command -v apt-get >/dev/null || { echo "Chromium is installed with apt, which is not on PATH." >&2; exit 1; }
    apt() { env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
    install() { apt install -y --no-install-recommends chromium fonts-dejavu-core >&2; }
    install || { apt update && install; } >&2 || {
        echo "apt has no package chromium, or cannot install it." >&2
        exit 1
    }
fi
command -v chromium
