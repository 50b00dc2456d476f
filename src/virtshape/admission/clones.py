"""Find the other namespaces that DataVolumes and VMs clone data from. The caller checks the permissions."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from virtshape.api.cdi import DataSource, DataSourceSource, DataVolume, DataVolumeSource, DataVolumeSpec
from virtshape.api.codec import from_tree
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Lookup, Reference

GROUP: Final = "cdi.kubevirt.io"
_MAX_CHAIN_LENGTH: Final = 8


class CloneSources(NamedTuple):
    """Namespaces that an object's author, or the service account it acts as, must be allowed to clone from."""

    namespaces: tuple[str, ...] = ()
    account: str = ""


def find_clone_sources(
    kind: Kind, new: JsonObject, old: JsonObject | None, namespace: str, lookup: Lookup
) -> CloneSources:
    """Return the namespaces that an object clones from, or none if its spec did not change."""
    if old is not None and new.get("spec") == old.get("spec"):
        return CloneSources()
    match kind.group, kind.kind:
        case "cdi.kubevirt.io", "DataVolume":
            return _clone_from(list_foreign_origins(from_tree(new, DataVolume).spec, namespace, lookup))
        case "cdi.kubevirt.io", "DataSource":
            return _clone_from(list_foreign_targets(from_tree(new, DataSource).spec.source, namespace))
        case "kubevirt.io", "VirtualMachine" if (new.get("spec") or {}).get("dataVolumeTemplates"):
            vm = from_tree(new, VirtualMachine)
            return _clone_from(list_template_origins(vm, lookup), find_service_account(vm))
        case _:
            return CloneSources()


def explain_forbidden_clone(users: Iterable[str], namespace: str) -> str:
    """Return the message for users that may not clone from a namespace, with the missing permission."""
    names = " and ".join(f'"{user}"' for user in users)
    reason = f"User {names} has insufficient permissions in clone source namespace {namespace}"
    return f"{reason}: needs to create datavolumes/source in API group {GROUP} there"


def _clone_from(namespaces: Iterable[str], account: str = "") -> CloneSources:
    return CloneSources(tuple(sorted(namespaces)), account)


def list_foreign_origins(spec: DataVolumeSpec, namespace: str, lookup: Lookup) -> set[str]:
    """Return the other namespaces that a DataVolume clones from."""
    if spec.source is not None:
        found = _namespaces(spec.source, namespace)
    elif spec.source_ref is not None:
        found = _follow(spec.source_ref.name, spec.source_ref.namespace or namespace, lookup)
    else:
        found = iter(())
    return set(found) - {namespace}


def list_foreign_targets(source: DataSourceSource, namespace: str) -> set[str]:
    """Return the other namespaces that a DataSource points to."""
    further = source.data_source.namespace if source.data_source is not None else None
    return {*_namespaces(source, namespace), further or namespace} - {namespace}


def list_template_origins(vm: VirtualMachine, lookup: Lookup) -> set[str]:
    """Return the other namespaces that the disks of a VM are cloned from."""
    namespace = namespace_of(vm)
    templates = vm.spec.data_volume_templates or ()
    return {origin for one in templates for origin in list_foreign_origins(one.spec, namespace, lookup)}


def find_service_account(vm: VirtualMachine) -> str:
    """Return the service account that a VM uses."""
    template = vm.spec.template.spec
    for volume in (template.volumes if template else None) or ():
        if volume.service_account is not None and volume.service_account.service_account_name:
            return volume.service_account.service_account_name
    return "default"


def _namespaces(source: DataVolumeSource | DataSourceSource, namespace: str) -> Iterator[str]:
    if source.pvc is not None:
        yield source.pvc.namespace or namespace
    if source.snapshot is not None:
        yield source.snapshot.namespace or namespace


def _follow(name: str, namespace: str, lookup: Lookup) -> Iterator[str]:
    """Yield the namespaces of the data behind a DataSource; its own namespace if it cannot be resolved."""
    for _ in range(_MAX_CHAIN_LENGTH):
        found = lookup(Reference("cdi.kubevirt.io", "DataSource", namespace, name))
        if not isinstance(found, DataSource):
            break
        further = found.spec.source.data_source
        if further is None:
            yield from _namespaces(found.spec.source, namespace)
            return
        name, namespace = further.name, further.namespace or namespace
    yield namespace
