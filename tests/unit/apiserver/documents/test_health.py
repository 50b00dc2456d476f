"""Health answers say `ok` as long as they can, and which check fails when they cannot."""

import pytest

from virtshape.apiserver.documents.health import Health, answer_check, answer_health, list_health_paths

ALL_WELL = {"ping": True, "store": True}
ONE_FAILS = {"ping": True, "store": False}


@pytest.mark.parametrize(
    ("checks", "verbose", "excluded", "answer"),
    [
        pytest.param(ALL_WELL, False, (), Health(200, "ok"), id="all is well"),
        pytest.param(
            ALL_WELL, True, (), Health(200, "[+]ping ok\n[+]store ok\nreadyz check passed\n"), id="all is well, in full"
        ),
        pytest.param(
            ONE_FAILS,
            False,
            (),
            Health(500, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n"),
            id="one fails",
        ),
        pytest.param(ONE_FAILS, False, ("store",), Health(200, "ok"), id="what fails is excluded"),
        pytest.param(
            ONE_FAILS,
            True,
            ("store", "moon"),
            Health(
                200,
                "[+]ping ok\n[+]store excluded: ok\n"
                'warn: some health checks cannot be excluded: no matches for "moon"\nreadyz check passed\n',
            ),
            id="something unknown is excluded",
        ),
    ],
)
def test_an_endpoint_sums_up_its_checks(
    checks: dict[str, bool], verbose: bool, excluded: tuple[str, ...], answer: Health
) -> None:
    assert answer_health("readyz", checks, verbose=verbose, excluded=excluded) == answer


def test_a_check_answers_for_itself() -> None:
    assert answer_check(passed=True) == Health(200, "ok")
    assert answer_check(passed=False).status == 500


def test_every_check_has_a_path_below_every_endpoint() -> None:
    assert list_health_paths(["ping"]) == [
        "/healthz",
        "/healthz/ping",
        "/livez",
        "/livez/ping",
        "/readyz",
        "/readyz/ping",
    ]
