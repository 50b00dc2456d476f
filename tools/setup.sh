#!/usr/bin/env bash
# Makes $VENV ready: system packages from packages.txt, uv from PyPI, the locked dependencies.
set -euo pipefail

python=${PYTHON:-python3}
venv=${VENV:-.venv}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "virtshape needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Set PYTHON=/path/to/python3.11 and try again." >&2
    exit 1
}

missing=()
if command -v dpkg-query >/dev/null; then
    while read -r package; do
        [ "$package" != kubernetes-client ] || ! command -v kubectl >/dev/null || continue
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done < <(sed -e 's/#.*//' -e '/^\s*$/d' packages.txt)
fi
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
        echo "Installing system packages: ${missing[*]}"
        "${as_root[@]}" apt-get update -qq
        install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
        "${install[@]}" "${missing[@]}" >/dev/null || for package in "${missing[@]}"; do
            "${install[@]}" "$package" >/dev/null || echo "$package could not be installed. Continuing without it." >&2
        done
    else
        echo "These system packages are missing and only root can install them:" >&2
        echo "    sudo apt-get install ${missing[*]}" >&2
        echo "Continuing without them." >&2
    fi
fi

if [ ! -x "$venv/bin/python" ]; then
    echo "Creating $venv"
    "$python" -m venv "$venv"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/python/uv.txt

extras=()
if pkg-config --exists libvirt 2>/dev/null; then
    extras=(--extra guests)
else
    echo "libvirt's headers are not there, so no guest can run: sudo apt-get install libvirt-dev pkg-config" >&2
fi
sync=("$venv/bin/uv" sync --quiet --frozen --inexact --compile-bytecode)
export UV_PROJECT_ENVIRONMENT="$venv"
"${sync[@]}" "${extras[@]}" || {
    [ ${#extras[@]} -gt 0 ]
    echo "libvirt's Python binding could not be built. Continuing without it: no guest can run." >&2
    "${sync[@]}"
}
