"""
Explain why a VM waits for its DataVolumes and claims.

The functions only read the VM and the cache.
"""

from typing import Final

from virtshape.api.cdi import DataVolume
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.vm.datavolumes import MISSING, USABLE_PHASES, find_claim_phase, find_data_volume_phase
from virtshape.controllers.vm.status import VOLUMES_READY, ConditionReason
from virtshape.resolve.find import namespace_of

NOT_READY: Final = "NotAllDVsReady"
FAILED: Final = "DataVolumeError"
NOT_FOUND: Final = "FailedPvcNotFound"


def explain_wait(vm: VirtualMachine, cache: Cache) -> ConditionReason | None:
    """Return why DataVolumes and claims prevent the start, with all their messages, or None if the VM can start."""
    template, problems = vm.spec.template.spec, []
    for volume in (template.volumes if template else None) or ():
        if volume.data_volume is not None:
            problems.append(_explain_data_volume(volume.data_volume.name, namespace_of(vm), cache))
        elif volume.persistent_volume_claim is not None:
            problems.append(_explain_claim(volume.persistent_volume_claim.claim_name, namespace_of(vm), cache))
    # Errors come first, then pending volumes.
    found = sorted(filter(None, problems), key=lambda one: one.reason == NOT_READY)
    return ConditionReason(found[0].reason, "; ".join(one.message for one in found)) if found else None


def is_unreported(vm: VirtualMachine, waiting: ConditionReason) -> bool:
    """Return True if the reason is an error whose message is not in the VM's status yet."""
    reported = find_condition(vm.status.conditions if vm.status else None, VOLUMES_READY)
    return waiting.reason != NOT_READY and (reported is None or reported.message != waiting.message)


def _explain_data_volume(name: str, namespace: str, cache: Cache) -> ConditionReason | None:
    volume = cache.find(DataVolume, name, namespace)
    if volume is None:
        return _explain_claim(name, namespace, cache, f"neither DataVolume nor PersistentVolumeClaim {name} found")
    phase = find_data_volume_phase(name, namespace, cache)
    if phase in USABLE_PHASES:
        return None
    message = _find_failure_message(volume, phase)
    return ConditionReason(
        FAILED if message else NOT_READY, f"DataVolume {name} is {phase}{message and f': {message}'}"
    )


def _find_failure_message(volume: DataVolume, phase: str) -> str:
    """Return the error of a failed or retried volume; empty while its first attempt runs."""
    status = volume.status
    if status is None or (phase != "Failed" and not status.restart_count):
        return ""
    return next((one.message for one in status.conditions or () if one.type == "Running" and one.message), "")


def _explain_claim(name: str, namespace: str, cache: Cache, message: str = "") -> ConditionReason | None:
    if find_claim_phase(name, namespace, cache) != MISSING:
        return None
    return ConditionReason(NOT_FOUND, message or f"PersistentVolumeClaim {name} not found")
