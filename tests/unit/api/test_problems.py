"""Decode errors as Kubernetes statuses: codes, reasons and causes."""

import pytest

from virtshape.api.fielderror import FieldError
from virtshape.api.problems import DecodeError, build_problem
from virtshape.api.status import StatusError

UNKNOWN = build_problem("spec.buss", 'unknown field "buss"', "unknown-field")
MISSING = build_problem("spec.name", 'missing required field "name"', "missing-field")
SYNTAX = build_problem("", "invalid JSON", "syntax")

CODES: dict[str, tuple[list[FieldError], int, str]] = {
    "not an object of that kind": ([UNKNOWN], 400, "BadRequest"),
    "only values": ([MISSING], 422, "Invalid"),
    "both": ([MISSING, UNKNOWN], 400, "BadRequest"),
    "not even JSON": ([SYNTAX], 400, "BadRequest"),
}


@pytest.mark.parametrize(("problems", "code", "reason"), CODES.values(), ids=CODES)
def test_violated_decode_rules_determine_the_status_code(problems: list[FieldError], code: int, reason: str) -> None:
    error = DecodeError(problems)
    assert isinstance(error, StatusError)
    assert (error.code, error.reason) == (code, reason)


def test_every_decode_problem_is_a_status_cause() -> None:
    assert DecodeError([UNKNOWN, MISSING]).causes == (
        FieldError("spec.buss", 'unknown field "buss"', "FieldValueForbidden", "unknown-field"),
        FieldError("spec.name", 'missing required field "name"', "FieldValueRequired", "missing-field"),
    )


def test_status_message_lists_all_decode_problems() -> None:
    assert str(DecodeError([UNKNOWN, SYNTAX])) == 'spec.buss: unknown field "buss"; invalid JSON'


def test_long_status_message_is_shortened_but_has_all_causes() -> None:
    error = DecodeError([UNKNOWN] * 12)
    assert error.message.endswith("; and 2 more")
    assert len(error.causes) == 12
