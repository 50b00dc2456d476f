"""Counters of admission verdicts."""

from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kinds import find_kind
from virtshape.api.status import StatusError
from virtshape.apiserver.admission.verdicts import Cause, Verdict, VerdictCounters


def test_admission_verdicts_and_causes_are_counted_by_reason() -> None:
    kind = find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None
    counters = VerdictCounters("admit")
    counters.count_allowed("CREATE", kind)
    causes = [FieldError("spec.a", "bad"), FieldError("spec.b", "bad"), FieldError("spec.c", "missing", VALUE_REQUIRED)]
    counters.count_denied("UPDATE", kind, StatusError(422, "Invalid", "bad", causes))
    of = ("kubevirt.io", "virtualmachines")
    assert counters.verdicts == {
        Verdict("CREATE", *of, "allowed"): 1,
        Verdict("UPDATE", *of, "denied", "Invalid"): 1,
    }
    assert counters.causes == {Cause(*of, "FieldValueInvalid"): 2, Cause(*of, "FieldValueRequired"): 1}
