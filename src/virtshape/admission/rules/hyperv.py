"""
Validate Hyper-V enlightenments: dependencies that are disabled, and value ranges.

Dependencies that are only unset are valid, because they are enabled automatically.
"""

from collections.abc import Iterator
from typing import Any, Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import CPU
from virtshape.api.kubevirt.features import FeatureHyperv, Features
from virtshape.engine.vmidefaults import HYPERV_NEEDS

MIN_SPINLOCKS: Final = 4096
MAX_VENDOR_LENGTH: Final = 12
_NESTING: Final = "vmx"


def check_hyperv(features: Features, hyperv: FeatureHyperv, cpu: CPU | None, at: str) -> Iterator[FieldError]:
    """Check the Hyper-V enlightenments of a guest; `at` is the field path of the enlightenments."""
    passthrough = features.hyperv_passthrough
    if passthrough is not None and passthrough.enabled is not False:
        reason = "Cannot explicitly set hyperV features if HypervPassthrough is being used"
        message = f"{reason}. Please use either HyperV or HypervPassthrough."
        yield FieldError(at, message, rule="impossible-combination")
    for name, needs in HYPERV_NEEDS.items():
        if _is_on(getattr(hyperv, name)):
            off = next((need for need in needs if _is_off(getattr(hyperv, need))), None)
            if off is not None:
                message = f"'{at}.{name}' requires '{at}.{off}', which was disabled."
                yield FieldError(f"{at}.{name}", message, rule="impossible-combination")
    yield from _check_bounds(hyperv, at)
    if _is_on(hyperv.evmcs) and cpu is not None:
        yield from _check_nesting(cpu, at.removesuffix("features.hyperv") + "cpu.features")


def _check_bounds(hyperv: FeatureHyperv, at: str) -> Iterator[FieldError]:
    attempts = hyperv.spinlocks.spinlocks if hyperv.spinlocks is not None and _is_on(hyperv.spinlocks) else None
    if attempts is not None and attempts < MIN_SPINLOCKS:
        field = f"{at}.spinlocks.spinlocks"
        message = f"{field} '{attempts}': must be greater than or equal to {MIN_SPINLOCKS}"
        yield FieldError(field, message, rule="invalid-value")
    vendor = hyperv.vendorid.vendorid if hyperv.vendorid is not None and _is_on(hyperv.vendorid) else None
    if vendor and (len(vendor) > MAX_VENDOR_LENGTH or "," in vendor):
        field = f"{at}.vendorid.vendorid"
        message = f"{field} '{vendor}': must have at most {MAX_VENDOR_LENGTH} characters, and no comma"
        yield FieldError(field, message, rule="invalid-value")


def _check_nesting(cpu: CPU, at: str) -> Iterator[FieldError]:
    for index, feature in enumerate(cpu.features or ()):
        if feature.name == _NESTING and feature.policy not in (None, "", "require"):
            message = f"{_NESTING} cpu feature has to be set to require policy when evmcs is set, not {feature.policy}"
            yield FieldError(f"{at}[{index}].policy", message, rule="impossible-combination")


def _is_on(state: Any) -> bool:
    return state is not None and state.enabled is not False


def _is_off(state: Any) -> bool:
    return state is not None and state.enabled is False
