"""
Where and when a guest may run: tolerations, spreading, how it starts and how long it may take to end.

Pure: yields violations.
"""

from collections.abc import Iterator

from virtshape.admission.violation import Violation
from virtshape.api.core.scheduling import Toleration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def check_scheduling(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether a scheduler could make sense of it."""
    for index, toleration in enumerate(spec.tolerations or ()):
        yield from _check_toleration(toleration, f"{root}.tolerations[{index}]")
    for index, constraint in enumerate(spec.topology_spread_constraints or ()):
        if constraint.max_skew < 1:
            field = f"{root}.topologySpreadConstraints[{index}].maxSkew"
            yield Violation("invalid-value", field, f"{field}: must be greater than zero")
    if spec.start_strategy:
        if spec.start_strategy != "Paused":
            message = f"{root}.startStrategy is set with an unrecognized option: {spec.start_strategy}; use Paused"
            yield Violation("unsupported-value", f"{root}.startStrategy", message)
        elif spec.liveness_probe is not None:
            message = "either startStrategy or livenessProbe should be provided: what is paused does not answer"
            yield Violation("impossible-combination", f"{root}.startStrategy", message)
    period = spec.termination_grace_period_seconds
    if period is not None and period < 0:
        field = f"{root}.terminationGracePeriodSeconds"
        yield Violation("invalid-value", field, f"{field}: must be greater than or equal to 0")


def _check_toleration(toleration: Toleration, at: str) -> Iterator[Violation]:
    if not toleration.key and toleration.operator != "Exists":
        message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield Violation("impossible-combination", f"{at}.operator", message)
    if toleration.operator == "Exists" and toleration.value:
        message = "value must be empty when `operator` is 'Exists'"
        yield Violation("impossible-combination", f"{at}.value", message)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield Violation("impossible-combination", f"{at}.effect", message)
