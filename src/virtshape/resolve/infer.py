"""
Infer a matcher from a volume (`inferFromVolume`): read annotations and labels of the volume's source objects.

The search starts at the volume's own object and follows its sources until an object has a name. For each key, the
annotation takes precedence over the label.
"""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from virtshape.api.cdi import DataSource, DataVolume, DataVolumeSpec
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher, PreferenceMatcher, VirtualMachine
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.resolve.find import namespace_of
from virtshape.resolve.matcher import KINDS
from virtshape.resolve.reference import Lookup, NotFoundError, Reference
from virtshape.resolve.search import Search, run_search

IGNORE: Final = "Ignore"
UNKNOWN: Final = "inference-unknown"
"""Lint rule: the object to infer from does not exist."""
InferredRole = Literal["instancetype", "preference"]
INFERRED: Final[tuple[InferredRole, ...]] = ("instancetype", "preference")


class Keys(NamedTuple):
    """The annotation key and the label key that hold a name or a kind."""

    annotation: str
    label: str


NAME_KEYS: Final[dict[InferredRole, Keys]] = {
    "instancetype": Keys(
        "instancetype.kubevirt.io/defaultInstancetype", "instancetype.kubevirt.io/default-instancetype"
    ),
    "preference": Keys("instancetype.kubevirt.io/defaultPreference", "instancetype.kubevirt.io/default-preference"),
}
KIND_KEYS: Final[dict[InferredRole, Keys]] = {
    role: Keys(f"{keys.annotation}Kind", f"{keys.label}-kind") for role, keys in NAME_KEYS.items()
}


class CannotInferError(StatusError):
    """The volume has no defaults; this error is ignored if the failure policy is Ignore."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


def infer_matchers(vm: VirtualMachine, lookup: Lookup) -> list[str]:
    """Replace each matcher that has `inferFromVolume` with the inferred one; return warnings for ignored failures."""
    if not asks_for_inference(vm):
        return []
    return [ignored.message for ignored in run_search(search_matchers(vm), lookup)]


def asks_for_inference(vm: VirtualMachine) -> bool:
    """Return True if the VM has a matcher with `inferFromVolume`."""
    instancetype, preference = vm.spec.instancetype, vm.spec.preference
    return bool((instancetype and instancetype.infer_from_volume) or (preference and preference.infer_from_volume))


def search_matchers(vm: VirtualMachine, roles: Collection[InferredRole] = INFERRED) -> Search[list[FieldError]]:
    """Return a search that infers and replaces each matcher with `inferFromVolume`; its result is ignored failures."""
    inferred: list[tuple[InferredRole, InstancetypeMatcher | PreferenceMatcher | None, bool]] = []
    warnings = []
    failed: dict[InferredRole, StatusError] = {}
    for role in roles:
        matcher: InstancetypeMatcher | PreferenceMatcher | None = getattr(vm.spec, role)
        if matcher is None or not matcher.infer_from_volume:
            continue
        ignoring = matcher.infer_from_volume_failure_policy == IGNORE
        try:
            found = yield from _search_matcher(vm, role, matcher.infer_from_volume)
            inferred.append((role, found, ignoring))
        except StatusError as error:
            if not ignoring or not isinstance(error, CannotInferError):
                failed[role] = error
                continue
            inferred.append((role, None, False))
            warnings.append(_describe_ignored(vm, role, error))
    if failed:
        raise _combine_errors(failed)
    for role, inferred_matcher, ignoring in inferred:
        setattr(vm.spec, role, inferred_matcher)
        if ignoring and role == "instancetype" and vm.spec.template.spec is not None:
            vm.spec.template.spec.domain.memory = None  # the VM's memory was only a fallback for a failed inference
    return warnings


def _describe_ignored(vm: VirtualMachine, role: InferredRole, error: StatusError) -> FieldError:
    message = (
        f"spec.{role}: {error.message}; ignored because inferFromVolumeFailurePolicy is Ignore: the VM has no {role}"
    )
    field = f"spec.{role}.inferFromVolume"
    if role == "preference":
        return FieldError(field, message, rule="preference-ignored")
    return FieldError(field, f"{message}: it gets {describe_own_memory(vm)}", rule="inference-ignored")


def describe_own_memory(vm: VirtualMachine) -> str:
    """Describe, for messages, the memory that the VM gets without an instance type."""
    memory = vm.spec.template.spec.domain.memory if vm.spec.template.spec else None
    return f"only its own {memory.guest} of memory" if memory and memory.guest is not None else "no memory"


def _combine_errors(failed: dict[InferredRole, StatusError]) -> StatusError:
    """Return the first error, with a cause for each matcher that cannot be inferred."""
    first = next(iter(failed.values()))
    first.causes = tuple(
        FieldError(
            f"spec.{role}.inferFromVolume",
            error.message,
            *(("FieldValueNotFound", UNKNOWN) if error.code == 404 else ("FieldValueInvalid", "inference-failed")),
        )
        for role, error in failed.items()
    )
    return first


def _search_matcher(
    vm: VirtualMachine, role: InferredRole, volume_name: str
) -> Search[InstancetypeMatcher | PreferenceMatcher]:
    """Return a search that infers a matcher from a volume of the VM."""
    inference = _Inference(role)
    yield from _read_volume(vm, _get_volume(vm, volume_name), inference)
    if inference.name is None:
        names = NAME_KEYS[role]
        raise CannotInferError(
            f"unable to find required {names.label} label on the volume; "
            f"set it, or the annotation {names.annotation}, or name the {role} in the VM"
        )
    matcher = InstancetypeMatcher if role == "instancetype" else PreferenceMatcher
    return matcher(name=inference.name, kind=inference.kind or KINDS[role].cluster.lower())


class _Inference:
    """The name and kind found on the first object that has a name."""

    def __init__(self, role: InferredRole) -> None:
        self._role = role
        self.name: str | None = None
        self.kind: str | None = None

    def read(self, metadata: ObjectMeta | None) -> bool:
        """Read an object's metadata unless a name was found before; return True if a name is known."""
        if self.name is None:
            self.name = _read_keys(metadata, NAME_KEYS[self._role])
            self.kind = _read_keys(metadata, KIND_KEYS[self._role])
        return self.name is not None


def _read_keys(metadata: ObjectMeta | None, keys: Keys) -> str | None:
    if metadata is None:
        return None
    labelled = (metadata.labels or {}).get(keys.label)
    return (metadata.annotations or {}).get(keys.annotation, labelled)


def _get_volume(vm: VirtualMachine, name: str) -> Volume:
    template = vm.spec.template.spec
    volumes = (template.volumes if template else None) or []
    for volume in volumes:
        if volume.name == name:
            return volume
    advice = f"use one of {', '.join(volume.name for volume in volumes)}" if volumes else "the VM has no volumes"
    raise StatusError(400, "BadRequest", f"unable to find volume {name} to infer defaults: {advice}")


def _read_volume(vm: VirtualMachine, volume: Volume, inference: _Inference) -> Search[None]:
    namespace = namespace_of(vm)
    if volume.persistent_volume_claim is not None:
        yield from _read_object(_claim(namespace, volume.persistent_volume_claim.claim_name), inference)
    elif volume.data_volume is not None:
        yield from _read_data_volume(vm, namespace, volume.data_volume.name, inference)
    else:
        raise CannotInferError(f"unable to infer defaults from volume {volume.name} as type is not supported")


def _read_data_volume(vm: VirtualMachine, namespace: str, name: str, inference: _Inference) -> Search[None]:
    for template in vm.spec.data_volume_templates or ():
        if template.metadata is not None and template.metadata.name == name:
            yield from _read_source(template.spec, namespace, inference)
            return
    found = yield Reference("cdi.kubevirt.io", "DataVolume", namespace, name)
    if not isinstance(found, DataVolume):  # CDI may delete it once its claim is populated
        yield from _read_object(_claim(namespace, name), inference)
        return
    if not inference.read(found.metadata):
        yield from _read_source(found.spec, namespace, inference)


def _read_source(spec: DataVolumeSpec, namespace: str, inference: _Inference) -> Search[None]:
    """Read the defaults from a DataVolume's source."""
    source, ref = spec.source, spec.source_ref
    if source is not None and source.pvc is not None:
        yield from _read_object(_claim(source.pvc.namespace or namespace, source.pvc.name), inference)
    elif source is not None and source.snapshot is not None:
        yield from _read_object(_snapshot(source.snapshot.namespace or namespace, source.snapshot.name), inference)
    elif ref is not None:
        if ref.kind != "DataSource":
            raise CannotInferError(
                f"unable to infer defaults from DataVolumeSourceRef as Kind {ref.kind} is not supported"
            )
        yield from _read_data_source(ref.namespace or namespace, ref.name, inference)
    else:
        raise CannotInferError("unable to infer defaults from DataVolumeSpec as DataVolumeSource is not supported")


def _read_data_source(namespace: str, name: str, inference: _Inference) -> Search[None]:
    found = yield from _read_object(Reference("cdi.kubevirt.io", "DataSource", namespace, name), inference)
    source = found.spec.source if isinstance(found, DataSource) else None
    if inference.name is not None:
        return
    if source is not None and source.pvc is not None:
        yield from _read_object(_claim(source.pvc.namespace or namespace, source.pvc.name), inference)
    elif source is not None and source.snapshot is not None:
        yield from _read_object(_snapshot(source.snapshot.namespace or namespace, source.snapshot.name), inference)
    else:
        raise CannotInferError(
            "unable to infer defaults from DataSource that doesn't provide "
            "DataVolumeSourcePVC or DataVolumeSourceSnapshot"
        )


def _read_object(reference: Reference, inference: _Inference) -> Search[Model]:
    found = yield reference
    if found is None:
        raise NotFoundError(reference, "spec.template.spec.volumes")
    inference.read(getattr(found, "metadata", None))
    return found


def _claim(namespace: str, name: str) -> Reference:
    return Reference("", "PersistentVolumeClaim", namespace, name)


def _snapshot(namespace: str, name: str) -> Reference:
    return Reference("snapshot.storage.k8s.io", "VolumeSnapshot", namespace, name)
