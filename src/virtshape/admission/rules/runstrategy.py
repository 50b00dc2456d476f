"""Validate `runStrategy` and the older `running`: exactly one must be set."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import describe_unsupported
from virtshape.admission.violation import DEPRECATED, Violation
from virtshape.api.kubevirt.machine import VirtualMachineSpec

RUN_STRATEGIES: Final = ("Always", "Halted", "Manual", "RerunOnFailure", "Once", "WaitAsReceiver")


def check_run_strategy(spec: VirtualMachineSpec) -> Iterator[Violation]:
    """Check that exactly one of both is set, to a supported value."""
    strategy = spec.run_strategy
    if spec.running is not None:
        if strategy is not None:
            message = "Running and RunStrategy are mutually exclusive: remove spec.running"
            yield Violation("run-strategy", "spec.running", message)
        instead = "Always" if spec.running else "Halted"
        message = f"spec.running is deprecated: use spec.runStrategy: {strategy or instead}"
        yield Violation(DEPRECATED, "spec.running", message)
    elif strategy is None:
        message = "RunStrategy must be specified: set spec.runStrategy, for example to Always"
        yield Violation("run-strategy", "spec.running", message)
    if strategy is not None and strategy not in RUN_STRATEGIES:
        message = f"Invalid RunStrategy ({strategy}): {describe_unsupported(strategy, RUN_STRATEGIES)}"
        yield Violation("unsupported-value", "spec.runStrategy", message)
