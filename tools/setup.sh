#!/usr/bin/env bash
# Installs the system packages in packages.txt, and installs uv and the locked run-time dependencies in $VENV.
# Prints what could not be installed, with the command that fixes it, and tries again at the next run.
set -euo pipefail

python=${PYTHON:-python3}
venv=${VENV:-.venv}

say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 1; }

command -v "$python" >/dev/null || fail "$python is not installed: sudo apt-get install -y python3, or make PYTHON=/path/to/python3.11"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or newer is needed; $python is $("$python" --version 2>&1): make PYTHON=/path/to/python3.11"

list_missing() {
    command -v dpkg-query >/dev/null || return 0
    sed -e 's/#.*//' -e '/^\s*$/d' packages.txt | while read -r package; do
        [ "$package" != kubernetes-client ] || ! command -v kubectl >/dev/null || continue
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$package"
    done
}

as_root=
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root='sudo -n'; fi
missing=$(list_missing)
if [ -n "$missing" ] && { [ "$(id -u)" -eq 0 ] || [ -n "$as_root" ]; }; then
    echo "Installing system packages:$missing"
    # A new machine may be running its unattended upgrades: wait for them.
    apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
    install() { apt install -y --no-install-recommends "$@" >/dev/null; }
    apt update || say "The package lists could not be updated; using the existing ones."
    # shellcheck disable=SC2086 # a list of names
    install $missing || for package in $missing; do
        install "$package" || say "$package could not be installed."
    done
    missing=$(list_missing)
fi
if [ -n "$missing" ]; then
    say "System packages are missing. To install them:" "    sudo apt-get install -y --no-install-recommends$missing"
elif ! command -v dpkg-query >/dev/null; then
    say "dpkg is not installed, so system packages were not checked: packages.txt lists the Debian packages that are needed."
fi
install_hint=python3-venv
[ -z "$missing" ] || install_hint="the packages above"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python has no module venv, which is required. Install ${install_hint}, then run make again."

if [ ! -x "$venv/bin/python" ]; then
    echo "Creating $venv"
    "$python" -m venv "$venv"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/python/uv.txt ||
    fail "uv could not be installed from PyPI, see above; then run make again."

export UV_PROJECT_ENVIRONMENT="$venv"
sync() { "$venv/bin/uv" sync --quiet --frozen --inexact --no-dev --compile-bytecode "$@"; }
if ! pkg-config --exists libvirt 2>/dev/null; then
    say "libvirt's headers are missing, so no guest can run. Everything else works. To fix it:" \
        "    sudo apt-get install -y libvirt-dev pkg-config"
elif sync --extra guests; then
    [ -n "$missing" ] || touch "$venv/.runtime"
    exit 0
else
    say "libvirt's Python binding could not be built, see above, so no guest can run. Everything else works. To try again:" \
        "    sudo apt-get install -y gcc libc6-dev libvirt-dev pkg-config python3-dev"
fi
sync || fail "The locked dependencies could not be installed, see above; then run make again."
