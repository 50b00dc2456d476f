"""Health endpoints return `ok` while all required checks pass, and name the checks that fail."""

import pytest

from virtshape.apiserver.discovery.health import Health, answer_check, answer_health, list_health_paths
from virtshape.supervise.checks import PASSED, Check

FULL = "database or disk is full"
ALL_PASS = {"ping": PASSED, "store": PASSED}
ONE_FAILS = {"ping": PASSED, "store": Check(FULL)}
OPTIONAL_FAILS = {"ping": PASSED, "launcher": Check("no QEMU", required=False)}


@pytest.mark.parametrize(
    ("checks", "verbose", "excluded", "reveal", "answer"),
    [
        pytest.param(ALL_PASS, False, (), False, Health(200, "ok"), id="all pass"),
        pytest.param(
            ALL_PASS,
            True,
            (),
            False,
            Health(200, "[+]ping ok\n[+]store ok\nreadyz check passed\n"),
            id="all pass, verbose",
        ),
        pytest.param(
            ONE_FAILS,
            False,
            (),
            False,
            Health(500, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n"),
            id="one fails",
        ),
        pytest.param(
            ONE_FAILS,
            False,
            (),
            True,
            Health(500, f"[+]ping ok\n[-]store failed: {FULL}\nreadyz check failed\n"),
            id="one fails, with the reason",
        ),
        pytest.param(ONE_FAILS, False, ("store",), False, Health(200, "ok"), id="failing check is excluded"),
        pytest.param(
            ONE_FAILS,
            True,
            ("store", "moon"),
            False,
            Health(
                200,
                "[+]ping ok\n[+]store excluded: ok\n"
                'warn: some health checks cannot be excluded: no matches for "moon"\nreadyz check passed\n',
            ),
            id="unknown check is excluded",
        ),
        pytest.param(OPTIONAL_FAILS, False, (), True, Health(200, "ok"), id="optional check fails"),
        pytest.param(
            OPTIONAL_FAILS,
            True,
            (),
            True,
            Health(200, "[+]ping ok\n[-]launcher failed: no QEMU (not required)\nreadyz check passed\n"),
            id="optional check fails, verbose",
        ),
    ],
)
def test_health_endpoint_summarizes_its_checks(
    checks: dict[str, Check], verbose: bool, excluded: tuple[str, ...], reveal: bool, answer: Health
) -> None:
    assert answer_health("readyz", checks, verbose=verbose, excluded=excluded, reveal=reveal) == answer


def test_failed_health_check_shows_its_reason_only_to_permitted_clients() -> None:
    assert answer_check(PASSED) == Health(200, "ok")
    assert answer_check(Check(FULL)) == Health(500, "internal server error: reason withheld\n")
    assert answer_check(Check(FULL), reveal=True) == Health(500, f"internal server error: {FULL}\n")


def test_every_health_check_has_a_path_below_its_endpoint() -> None:
    assert list_health_paths("readyz", ["ping"]) == ["/readyz", "/readyz/ping"]
