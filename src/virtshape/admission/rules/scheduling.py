"""Validate tolerations, topology spread constraints, start strategy and grace period."""

from collections.abc import Iterator, Sequence

from virtshape.api.core.scheduling import Toleration, TopologySpreadConstraint
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def check_scheduling(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check tolerations, spread constraints, start strategy and grace period; `root` is the field path of the spec."""
    for index, toleration in enumerate(spec.tolerations or ()):
        yield from _check_toleration(toleration, f"{root}.tolerations[{index}]")
    if spec.topology_spread_constraints:
        yield from _check_spreading(spec.topology_spread_constraints, f"{root}.topologySpreadConstraints")
    if spec.start_strategy:
        yield from _check_start(spec, spec.start_strategy, root)
    period = spec.termination_grace_period_seconds
    if period is not None and period < 0:
        field = f"{root}.terminationGracePeriodSeconds"
        yield FieldError(field, f"{field}: must be greater than or equal to 0", rule="invalid-value")


def _check_start(spec: VirtualMachineInstanceSpec, strategy: str, root: str) -> Iterator[FieldError]:
    field = f"{root}.startStrategy"
    if strategy != "Paused":
        message = f"{field} is set with an unrecognized option: {strategy}; use Paused"
        yield FieldError(field, message, rule="unsupported-value")
    elif spec.liveness_probe is not None:
        reason = f"either {field} or {root}.livenessProbe should be provided"
        message = f"{reason}.Pausing VMI with LivenessProbe is not supported: a paused guest does not respond"
        yield FieldError(field, message, rule="impossible-combination")


def _check_spreading(constraints: Sequence[TopologySpreadConstraint], at: str) -> Iterator[FieldError]:
    for index, constraint in enumerate(constraints):
        field = f"{at}[{index}]"
        if constraint.max_skew < 1:
            yield FieldError(f"{field}.maxSkew", f"{field}.maxSkew: must be greater than zero", rule="invalid-value")
        if not constraint.topology_key:
            message = f"{field}.topologyKey: can not be empty"
            yield FieldError(f"{field}.topologyKey", message, VALUE_REQUIRED, rule="invalid-value")
        if constraint.min_domains is None:
            continue
        if constraint.min_domains < 1:
            yield FieldError(
                f"{field}.minDomains", f"{field}.minDomains: must be greater than zero", rule="invalid-value"
            )
        if constraint.when_unsatisfiable != "DoNotSchedule":
            message = f"{field}.minDomains can only use minDomains if whenUnsatisfiable=DoNotSchedule"
            yield FieldError(f"{field}.minDomains", message, rule="impossible-combination")


def _check_toleration(toleration: Toleration, at: str) -> Iterator[FieldError]:
    if not toleration.key and toleration.operator != "Exists":
        message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield FieldError(f"{at}.operator", message, rule="impossible-combination")
    if toleration.operator == "Exists" and toleration.value:
        message = "value must be empty when `operator` is 'Exists'"
        yield FieldError(f"{at}.value", message, rule="impossible-combination")
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield FieldError(f"{at}.effect", message, rule="impossible-combination")
