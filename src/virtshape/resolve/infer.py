"""
Infer a matcher from a volume (`inferFromVolume`): read annotations and labels of the volume's source objects.

The search starts at the claim or DataVolume and follows its sources until an object has an annotation or label that
contains the name. Annotations take precedence over labels. A dataVolumeTemplate that imports a container image is read
like the DataVolume that is created from it, which gets the labels of the image.
"""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from virtshape.api.cdi import DataSource, DataVolume, DataVolumeSpec
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import (
    DataVolumeTemplateSpec,
    InstancetypeMatcher,
    PreferenceMatcher,
    VirtualMachine,
)
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
"""The lint rule for inference from an object that does not exist."""
InferredRole = Literal["instancetype", "preference"]
INFERRED: Final[tuple[InferredRole, ...]] = ("instancetype", "preference")


class Keys(NamedTuple):
    """The keys of the annotation and the label that contain a name or a kind."""

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
    """A matcher cannot be inferred from the volume. The failure policy `Ignore` applies only to this error."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


class UnreadImageError(CannotInferError):
    """The defaults of a container image cannot be read here; the server that imports the image may know them."""

    def __init__(self, role: InferredRole, url: str) -> None:
        super().__init__(
            "unable to infer defaults from DataVolumeSpec as DataVolumeSource is not supported: no "
            f"{NAME_KEYS[role].label} of container image {url} is known here; set this label on the "
            f"dataVolumeTemplate, set the {role} in the VM, or import the image before the VM is created"
        )


def infer_matchers(vm: VirtualMachine, lookup: Lookup) -> list[str]:
    """Infer each matcher that has `inferFromVolume` from its volume; return warnings for ignored failures."""
    if not asks_for_inference(vm):
        return []
    return [ignored.message for ignored in run_search(search_matchers(vm), lookup)]


def asks_for_inference(vm: VirtualMachine) -> bool:
    """Return True if the VM has a matcher with `inferFromVolume`."""
    instancetype, preference = vm.spec.instancetype, vm.spec.preference
    return bool((instancetype and instancetype.infer_from_volume) or (preference and preference.infer_from_volume))


def search_matchers(vm: VirtualMachine, roles: Collection[InferredRole] = INFERRED) -> Search[list[FieldError]]:
    """
    Replace each matcher that has `inferFromVolume` with the inferred matcher.

    If the failure policy ignores a failure, remove the matcher and return the failure in the list. Other failures raise
    StatusError.
    """
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
            vm.spec.template.spec.domain.memory = (
                None  # the memory in the VM is only a fallback, used if the inference fails
            )
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
    """Return a phrase for messages that states the memory that the VM gets without an instance type."""
    memory = vm.spec.template.spec.domain.memory if vm.spec.template.spec else None
    return f"only its own {memory.guest} of memory" if memory and memory.guest is not None else "no memory"


def _combine_errors(failed: dict[InferredRole, StatusError]) -> StatusError:
    """Return the first error, with a cause for each matcher that cannot be inferred."""
    first = next(iter(failed.values()))
    first.causes = tuple(
        FieldError(
            f"spec.{role}.inferFromVolume",
            error.message,
            *_classify(error),
        )
        for role, error in failed.items()
    )
    return first


def _classify(error: StatusError) -> tuple[str, str]:
    """Return the reason and the lint rule of a failed inference."""
    if error.code == 404:
        return "FieldValueNotFound", UNKNOWN
    return "FieldValueInvalid", UNKNOWN if isinstance(error, UnreadImageError) else "inference-failed"


def list_image_templates(vm: VirtualMachine) -> list[DataVolumeTemplateSpec]:
    """Return the dataVolumeTemplates that the VM infers from and that import a container image but set no default."""
    templates = []
    for role in INFERRED:
        matcher: InstancetypeMatcher | PreferenceMatcher | None = getattr(vm.spec, role)
        name = matcher.infer_from_volume if matcher is not None else None
        volumes = (vm.spec.template.spec.volumes if name and vm.spec.template.spec else None) or ()
        for volume in volumes:
            template = find_template(vm, volume.data_volume.name) if volume.data_volume is not None else None
            if volume.name != name or template is None or template in templates:
                continue
            if find_image_url(template.spec) and read_key(template.metadata, NAME_KEYS[role]) is None:
                templates.append(template)
    return templates


def find_template(vm: VirtualMachine, name: str) -> DataVolumeTemplateSpec | None:
    """Return the dataVolumeTemplate with this name, or None."""
    templates = vm.spec.data_volume_templates or ()
    return next((one for one in templates if one.metadata is not None and one.metadata.name == name), None)


def find_image_url(spec: DataVolumeSpec) -> str | None:
    """Return the URL of the container image that a DataVolume is imported from, or None."""
    return spec.source.registry.url if spec.source is not None and spec.source.registry is not None else None


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
            f"set the label or the annotation {names.annotation}, or set the {role} in the VM"
        )
    matcher = InstancetypeMatcher if role == "instancetype" else PreferenceMatcher
    return matcher(name=inference.name, kind=inference.kind or KINDS[role].cluster.lower())


class _Inference:
    """The inferred name and kind, from the first object with an annotation or label that contains the name."""

    def __init__(self, role: InferredRole) -> None:
        self.role = role
        self.name: str | None = None
        self.kind: str | None = None

    def read(self, metadata: ObjectMeta | None) -> bool:
        """Read the name and kind from an object's metadata unless the name is known; return True if it is known now."""
        if self.name is None:
            self.name = read_key(metadata, NAME_KEYS[self.role])
            self.kind = read_key(metadata, KIND_KEYS[self.role])
        return self.name is not None


def read_key(metadata: ObjectMeta | None, keys: Keys) -> str | None:
    """Return the value of the annotation, or else of the label, in an object's metadata; None if it has neither."""
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
        raise CannotInferError(
            f"unable to infer defaults from volume {volume.name} as type is not supported{_advise(volume, inference)}"
        )


def _advise(volume: Volume, inference: _Inference) -> str:
    """Return advice about a volume whose type does not support inference."""
    if volume.container_disk is None:
        return f"; infer from a dataVolume or persistentVolumeClaim, or set the {inference.role} in the VM"
    return (
        f": the defaults of container disk {volume.container_disk.image} are not read from its registry; set the "
        f"{inference.role} in the VM, or import the image with a DataVolume (source.registry) and infer from its claim"
    )


def _read_data_volume(vm: VirtualMachine, namespace: str, name: str, inference: _Inference) -> Search[None]:
    template = find_template(vm, name)
    if template is not None:
        yield from _read_template(template, namespace, name, inference)
        return
    found = yield refer_to_data_volume(namespace, name)
    if not isinstance(found, DataVolume):  # CDI may delete a DataVolume once its claim is populated
        yield from _read_object(_claim(namespace, name), inference)
        return
    if not inference.read(found.metadata):
        yield from _read_source(found.spec, namespace, inference)


def _read_template(template: DataVolumeTemplateSpec, namespace: str, name: str, inference: _Inference) -> Search[None]:
    url = find_image_url(template.spec)
    if not url:
        yield from _read_source(template.spec, namespace, inference)
        return
    if inference.read(template.metadata):
        return
    found = yield refer_to_data_volume(namespace, name)
    if not isinstance(found, DataVolume) or not inference.read(found.metadata):
        raise UnreadImageError(inference.role, url)


def refer_to_data_volume(namespace: str, name: str) -> Reference:
    """Return the reference to a DataVolume."""
    return Reference("cdi.kubevirt.io", "DataVolume", namespace, name)


def _read_source(spec: DataVolumeSpec, namespace: str, inference: _Inference) -> Search[None]:
    """Read the default name and kind from a DataVolume's source."""
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
