"""Validate dataVolumeTemplates: each template needs a unique name, a volume that uses it, a source and storage."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.rules.checks import list_members
from virtshape.api.cdi import DataVolumeSource, DataVolumeSpec
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineSpec
from virtshape.resolve.find import namespace_of

_SOURCES: Final = list_members(DataVolumeSource)


def check_templates(vm: VirtualMachine) -> Iterator[FieldError]:
    """Check the dataVolumeTemplates of a VM."""
    used, namespace = _find_used(vm.spec), namespace_of(vm)
    seen: set[str] = set()
    for index, template in enumerate(vm.spec.data_volume_templates or ()):
        at, metadata = f"spec.dataVolumeTemplates[{index}]", template.metadata
        yield from _check_name((metadata.name if metadata else None) or "", seen, used, at)
        if metadata is not None and metadata.namespace and metadata.namespace != namespace:
            message = f"Embedded DataVolume namespace {metadata.namespace} differs from VM namespace {namespace}"
            yield FieldError(f"{at}.metadata.namespace", message, rule="impossible-combination")
        yield from check_data_volume(template.spec, f"{at}.spec")
        yield from _check_contents(template.spec, f"{at}.spec")


def _find_used(spec: VirtualMachineSpec) -> set[str]:
    volumes = (spec.template.spec.volumes if spec.template.spec else None) or ()
    used = {volume.data_volume.name for volume in volumes if volume.data_volume is not None}
    return used | {v.persistent_volume_claim.claim_name for v in volumes if v.persistent_volume_claim is not None}


def _check_name(name: str, seen: set[str], used: set[str], at: str) -> Iterator[FieldError]:
    field = f"{at}.metadata.name"
    if not name:
        message = f"'name' field must not be empty for DataVolumeTemplate entry {at}."
        yield FieldError(field, message, VALUE_REQUIRED, rule="invalid-name")
    elif name in seen:
        message = f"two DataVolumeTemplates are named {name}: rename or remove one"
        yield FieldError(field, message, rule="duplicate-name")
    elif name not in used:
        reason = "must be referenced in the VMI template's 'volumes' list"
        message = f"DataVolumeTemplate entry {at} {reason}: add a volume with dataVolume {name}, or remove it"
        yield FieldError(field, message, VALUE_REQUIRED, rule="missing-volume")
    seen.add(name)


def _check_contents(spec: DataVolumeSpec, at: str) -> Iterator[FieldError]:
    claim = spec.pvc or spec.storage
    if claim is None:
        yield FieldError(at, "Missing Data volume PVC or Storage: add storage", rule="one-of")
        return
    is_populated = claim.data_source is not None or claim.data_source_ref is not None
    has_origin = spec.source is not None or spec.source_ref is not None
    if is_populated and has_origin:
        message = "External population is incompatible with Source and SourceRef: keep one of them"
        yield FieldError(f"{at}.source", message, rule="one-of")
    if not is_populated and not has_origin:
        message = "Data volume should have either Source, SourceRef, or be externally populated: add source"
        yield FieldError(at, message, rule="one-of")
    if spec.source is not None and _SOURCES.count_present(spec.source) == 0:
        yield FieldError(
            f"{at}.source", f"Missing dataVolume valid source: add {' or '.join(_SOURCES.names)}", rule="one-of"
        )
    elif spec.source is not None and _SOURCES.count_present(spec.source) > 1:
        present = _SOURCES.list_present(spec.source)
        message = f"Multiple dataVolume sources: {' and '.join(present)}; keep one of them"
        yield FieldError(f"{at}.source.{present[1]}", message, rule="one-of")
