"""
Infers a matcher from the volume that it names: annotations and labels of what the volume is made from.

Looks from the volume's own object down to what that was copied from; the first that has a name counts.
For each key the annotation comes before the label.
"""

from typing import Final, Literal, NamedTuple

from virtshape.api.cdi import DataSource, DataVolume, DataVolumeSpec
from virtshape.api.kubevirt.machine import InstancetypeMatcher, PreferenceMatcher, VirtualMachine
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.status import Cause, StatusError
from virtshape.resolve.find import namespace_of
from virtshape.resolve.matcher import KINDS
from virtshape.resolve.reference import Lookup, NotFoundError, Reference

IGNORE: Final = "Ignore"
InferredRole = Literal["instancetype", "preference"]
_ROLES: Final[tuple[InferredRole, ...]] = ("instancetype", "preference")


class Keys(NamedTuple):
    """What a name or a kind is called in annotations and labels."""

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
    """The volume says nothing; policy Ignore lets it pass."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


def infer_matchers(vm: VirtualMachine, lookup: Lookup) -> list[str]:
    """Replace, in the VM given, each matcher that asks for it by what its volume says; the list warns of failures."""
    instancetype, preference = vm.spec.instancetype, vm.spec.preference
    if not ((instancetype and instancetype.infer_from_volume) or (preference and preference.infer_from_volume)):
        return []
    inferred: list[tuple[InferredRole, InstancetypeMatcher | PreferenceMatcher | None, bool]] = []
    warnings = []
    failed: dict[InferredRole, StatusError] = {}
    for role in _ROLES:
        matcher: InstancetypeMatcher | PreferenceMatcher | None = getattr(vm.spec, role)
        if matcher is None or not matcher.infer_from_volume:
            continue
        ignoring = matcher.infer_from_volume_failure_policy == IGNORE
        try:
            inferred.append((role, infer_matcher_from_volume(vm, role, matcher.infer_from_volume, lookup), ignoring))
        except StatusError as error:
            if not ignoring or not isinstance(error, CannotInferError):
                failed[role] = error
                continue
            inferred.append((role, None, False))
            policy = f"ignored as inferFromVolumeFailurePolicy asks, the VM has no {role}"
            warnings.append(f"spec.{role}: {error.message}; {policy}")
    if failed:
        raise _tell_all(failed)
    for role, answer, ignoring in inferred:
        setattr(vm.spec, role, answer)
        if ignoring and role == "instancetype" and vm.spec.template.spec is not None:
            vm.spec.template.spec.domain.memory = None  # it stood in for an instance type that might not be inferred
    return warnings


def _tell_all(failed: dict[InferredRole, StatusError]) -> StatusError:
    """The first error, with a cause for each matcher that cannot be inferred."""
    first = next(iter(failed.values()))
    first.causes = tuple(
        Cause(
            "FieldValueNotFound" if error.code == 404 else "FieldValueInvalid",
            error.message,
            f"spec.{role}.inferFromVolume",
        )
        for role, error in failed.items()
    )
    return first


def infer_matcher_from_volume(
    vm: VirtualMachine, role: InferredRole, volume_name: str, lookup: Lookup
) -> InstancetypeMatcher | PreferenceMatcher:
    """The matcher that a volume of the VM stands for."""
    answer = _Answer(role, lookup)
    _ask_volume(vm, _find_volume(vm, volume_name), answer)
    if answer.name is None:
        names = NAME_KEYS[role]
        raise CannotInferError(
            f"unable to find required {names.label} label on the volume; "
            f"set it, or the annotation {names.annotation}, or name the {role} in the VM"
        )
    matcher = InstancetypeMatcher if role == "instancetype" else PreferenceMatcher
    return matcher(name=answer.name, kind=answer.kind or KINDS[role].cluster.lower())


class _Answer:
    """The name and kind on the first object that has a name."""

    def __init__(self, role: InferredRole, lookup: Lookup) -> None:
        self._role = role
        self.lookup = lookup
        self.name: str | None = None
        self.kind: str | None = None

    def take(self, metadata: ObjectMeta | None) -> bool:
        """Read an object's metadata, unless there is an answer already; whether there is one now."""
        if self.name is None:
            self.name = _read(metadata, NAME_KEYS[self._role])
            self.kind = _read(metadata, KIND_KEYS[self._role])
        return self.name is not None


def _read(metadata: ObjectMeta | None, keys: Keys) -> str | None:
    if metadata is None:
        return None
    labelled = (metadata.labels or {}).get(keys.label)
    return (metadata.annotations or {}).get(keys.annotation, labelled)


def _find_volume(vm: VirtualMachine, name: str) -> Volume:
    template = vm.spec.template.spec
    volumes = (template.volumes if template else None) or []
    for volume in volumes:
        if volume.name == name:
            return volume
    advice = f"use one of {', '.join(volume.name for volume in volumes)}" if volumes else "the VM has no volumes"
    raise StatusError(400, "BadRequest", f"unable to find volume {name} to infer defaults: {advice}")


def _ask_volume(vm: VirtualMachine, volume: Volume, answer: _Answer) -> None:
    namespace = namespace_of(vm)
    if volume.persistent_volume_claim is not None:
        _ask(_claim(namespace, volume.persistent_volume_claim.claim_name), answer)
    elif volume.data_volume is not None:
        _ask_data_volume(vm, namespace, volume.data_volume.name, answer)
    else:
        raise CannotInferError(f"unable to infer defaults from volume {volume.name} as type is not supported")


def _ask_data_volume(vm: VirtualMachine, namespace: str, name: str, answer: _Answer) -> None:
    for template in vm.spec.data_volume_templates or ():
        if template.metadata is not None and template.metadata.name == name:
            _ask_origin(template.spec, namespace, answer)
            return
    found = answer.lookup(Reference("cdi.kubevirt.io", "DataVolume", namespace, name))
    if not isinstance(found, DataVolume):  # it may be gone once its claim is filled
        _ask(_claim(namespace, name), answer)
        return
    if not answer.take(found.metadata):
        _ask_origin(found.spec, namespace, answer)


def _ask_origin(spec: DataVolumeSpec, namespace: str, answer: _Answer) -> None:
    """Ask what a DataVolume is copied from."""
    source, ref = spec.source, spec.source_ref
    if source is not None and source.pvc is not None:
        _ask(_claim(source.pvc.namespace or namespace, source.pvc.name), answer)
    elif source is not None and source.snapshot is not None:
        _ask(_snapshot(source.snapshot.namespace or namespace, source.snapshot.name), answer)
    elif ref is not None:
        if ref.kind != "DataSource":
            raise CannotInferError(
                f"unable to infer defaults from DataVolumeSourceRef as Kind {ref.kind} is not supported"
            )
        _ask_data_source(ref.namespace or namespace, ref.name, answer)
    else:
        raise CannotInferError("unable to infer defaults from DataVolumeSpec as DataVolumeSource is not supported")


def _ask_data_source(namespace: str, name: str, answer: _Answer) -> None:
    found = _ask(Reference("cdi.kubevirt.io", "DataSource", namespace, name), answer)
    source = found.spec.source if isinstance(found, DataSource) else None
    if answer.name is not None:
        return
    if source is not None and source.pvc is not None:
        _ask(_claim(source.pvc.namespace or namespace, source.pvc.name), answer)
    elif source is not None and source.snapshot is not None:
        _ask(_snapshot(source.snapshot.namespace or namespace, source.snapshot.name), answer)
    else:
        raise CannotInferError(
            "unable to infer defaults from DataSource that doesn't provide "
            "DataVolumeSourcePVC or DataVolumeSourceSnapshot"
        )


def _ask(reference: Reference, answer: _Answer) -> Model:
    found = answer.lookup(reference)
    if found is None:
        raise NotFoundError(reference, "spec.template.spec.volumes")
    answer.take(getattr(found, "metadata", None))
    return found


def _claim(namespace: str, name: str) -> Reference:
    return Reference("", "PersistentVolumeClaim", namespace, name)


def _snapshot(namespace: str, name: str) -> Reference:
    return Reference("snapshot.storage.k8s.io", "VolumeSnapshot", namespace, name)
