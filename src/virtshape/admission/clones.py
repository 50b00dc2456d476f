"""
Copies across namespaces: from which other namespaces DataVolumes take their content.

Only finds out; whether somebody may is decided where it is known who asks.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.api.cdi import DataSource, DataSourceSource, DataVolumeSource, DataVolumeSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Lookup, Reference

_LONGEST_CHAIN: Final = 8


def list_foreign_origins(spec: DataVolumeSpec, namespace: str, lookup: Lookup) -> set[str]:
    """The namespaces, other than its own, that a DataVolume copies from."""
    if spec.source is not None:
        found = _namespaces(spec.source, namespace)
    elif spec.source_ref is not None:
        found = _follow(spec.source_ref.name, spec.source_ref.namespace or namespace, lookup)
    else:
        found = iter(())
    return set(found) - {namespace}


def list_foreign_targets(source: DataSourceSource, namespace: str) -> set[str]:
    """The namespaces, other than its own, that a data source points into."""
    further = source.data_source.namespace if source.data_source is not None else None
    return {*_namespaces(source, namespace), further or namespace} - {namespace}


def list_template_origins(vm: VirtualMachine, lookup: Lookup) -> set[str]:
    """The namespaces, other than its own, that the disks of a VM are copied from."""
    namespace = namespace_of(vm)
    templates = vm.spec.data_volume_templates or ()
    return {origin for one in templates for origin in list_foreign_origins(one.spec, namespace, lookup)}


def find_service_account(vm: VirtualMachine) -> str:
    """The service account that a VM acts as."""
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
    """Where the content is that a data source stands for; where the data source is, as long as nobody knows."""
    for _ in range(_LONGEST_CHAIN):
        found = lookup(Reference("cdi.kubevirt.io", "DataSource", namespace, name))
        if not isinstance(found, DataSource):
            break
        further = found.spec.source.data_source
        if further is None:
            yield from _namespaces(found.spec.source, namespace)
            return
        name, namespace = further.name, further.namespace or namespace
    yield namespace
