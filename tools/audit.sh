#!/usr/bin/env bash
# Look up every locked dependency in a vulnerability database (OSV, or AUDIT_URL).
# Exit status: 0 without findings, 1 with findings or after another error, 2 if the service cannot be reached (0 with
# AUDIT_OPTIONAL=1).
set -uo pipefail
cd "$(dirname "$0")/.."

service=(${AUDIT_URL:+--service-url "$AUDIT_URL"})
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
export UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-20} UV_HTTP_RETRIES=${UV_HTTP_RETRIES:-1}
"${VENV:-.venv}/bin/uv" audit --frozen --preview-features audit-command "${service[@]}" 2>"$errors"
status=$?
cat "$errors" >&2
# uv exits with 1 if there are findings and with 2 for any error.
if [ $status -eq 2 ] && grep -qE 'error sending request|HTTP status (client|server) error' "$errors"; then
    echo "The vulnerability service cannot be reached: the dependencies were NOT audited." >&2
    [ "${AUDIT_OPTIONAL:-}" = 1 ] && exit 0
    echo "Set AUDIT_OPTIONAL=1 to continue without the audit." >&2
    exit 2
fi
[ $status -eq 0 ]
