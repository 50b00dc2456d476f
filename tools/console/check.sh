#!/usr/bin/env bash
# Checks the web console: lint, types, and that a build of console/ equals src/virtshape/web/static, byte for byte.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v npm >/dev/null; then
    echo "npm is not installed, so the console is not checked: sudo apt-get install -y nodejs npm" >&2
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
npm --prefix console install --no-save --ignore-scripts --silent
npm --prefix console run --silent check
(cd console && node build.mjs "$built/static")
diff -rq "$built/static" src/virtshape/web/static || {
    echo "src/virtshape/web/static is out of date: run make console" >&2
    exit 1
}
