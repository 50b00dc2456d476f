"""
Responses of `/healthz`, `/livez` and `/readyz`, in the format of kube-apiserver.

The endpoints are public, so the reasons for failures are included only if `reveal` is True.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from virtshape.supervise.checks import Check

ENDPOINTS = ("healthz", "livez", "readyz")
WITHHELD = "reason withheld"


class Health(NamedTuple):
    """A response: the HTTP status and the text."""

    status: int
    text: str


def answer_health(
    endpoint: str,
    checks: Mapping[str, Check],
    *,
    verbose: bool = False,
    excluded: Collection[str] = (),
    reveal: bool = False,
) -> Health:
    """Return the response of an endpoint: status 200 if all required checks that are not excluded pass, else 500."""
    failed = [name for name, check in checks.items() if check.required and not check.passed and name not in excluded]
    if not failed and not verbose:
        return Health(200, "ok")
    lines = [_write_line(name, check, is_excluded=name in excluded, reveal=reveal) for name, check in checks.items()]
    if unknown := [name for name in excluded if name not in checks]:
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    lines.append(f"{endpoint} check {'failed' if failed else 'passed'}")
    return Health(500 if failed else 200, "\n".join(lines) + "\n")


def answer_check(check: Check, *, reveal: bool = False) -> Health:
    """Return the response of one check: status 200 if the check passes, else 500."""
    if check.passed:
        return Health(200, "ok")
    return Health(500, f"internal server error: {check.failure if reveal else WITHHELD}\n")


def list_health_paths(endpoint: str, checks: Collection[str]) -> list[str]:
    """Return the paths of an endpoint and its checks."""
    return [f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks)]


def _write_line(name: str, check: Check, *, is_excluded: bool, reveal: bool) -> str:
    if is_excluded:
        return f"[+]{name} excluded: ok"
    if check.passed:
        return f"[+]{name} ok"
    return f"[-]{name} failed: {check.failure if reveal else WITHHELD}{'' if check.required else ' (not required)'}"
