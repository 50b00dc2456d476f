"""
Answers about the server's health, as load balancers and people ask for them at `/healthz`, `/livez` and `/readyz`.

Checks nothing itself: it is told which checks there are and which of them fail.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

CONTENT_TYPE = "text/plain; charset=utf-8"
ENDPOINTS = ("healthz", "livez", "readyz")


class Health(NamedTuple):
    """An answer: the HTTP status and the text."""

    status: int
    text: str


def answer_health(
    endpoint: str, checks: Mapping[str, bool], *, verbose: bool = False, excluded: Collection[str] = ()
) -> Health:
    """Say whether all checks but the excluded ones pass; `checks` tells of each whether it does."""
    failed = [name for name, passed in checks.items() if not passed and name not in excluded]
    if not failed and not verbose:
        return Health(200, "ok")
    lines = [_write_line(name, passed, name in excluded) for name, passed in checks.items()]
    if unknown := [name for name in excluded if name not in checks]:
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    lines.append(f"{endpoint} check {'failed' if failed else 'passed'}")
    return Health(500 if failed else 200, "\n".join(lines) + "\n")


def answer_check(passed: bool) -> Health:
    """Say whether one check, asked for by its own path, passes."""
    return Health(200, "ok") if passed else Health(500, "internal server error: reason withheld\n")


def list_health_paths(checks: Collection[str]) -> list[str]:
    """The paths of all endpoints and of the checks below them."""
    return [path for endpoint in ENDPOINTS for path in (f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks))]


def _write_line(name: str, passed: bool, is_excluded: bool) -> str:
    if is_excluded:
        return f"[+]{name} excluded: ok"
    # Anyone may ask, so what exactly failed is for the log.
    return f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld"
