"""
The library's front door: expand and explain VMs against objects held in memory.

What is given is copied once, when it is decoded, and never changed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from virtshape.api.codec import decode, encode, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.engine.conflict import causes, describe_conflicts
from virtshape.engine.draft import Source, Trace
from virtshape.engine.expand import expand_vm
from virtshape.engine.machine import DEFAULT_ARCHITECTURE
from virtshape.offline.objects import Objects
from virtshape.resolve.find import find_shape
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.reference import NotFoundError


class Origin(NamedTuple):
    """Where one field of an expanded VM came from."""

    field: str
    value: object
    source: Source


class Expander:
    """
    Expands VMs against instance types, preferences and whatever their volumes are made from.

    >>> small = b'''{"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype",
    ...   "metadata": {"name": "small"}, "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2048Mi"}}}'''
    >>> vm = b'''{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web"},
    ...   "spec": {"runStrategy": "Always", "instancetype": {"name": "small"},
    ...            "template": {"spec": {"domain": {"devices": {}}}}}}'''
    >>> import json
    >>> expanded = json.loads(Expander([small]).expand(vm))
    >>> expanded["spec"]["template"]["spec"]["domain"]["memory"]
    {'guest': '2Gi'}

    What cannot be expanded raises one StatusError with all causes.

    >>> Expander([small]).expand(vm.replace(b'"devices": {}', b'"devices": {}, "cpu": {"cores": 1}'))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    virtshape.api.status.StatusError: VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected ...
    """

    def __init__(
        self,
        objects: Iterable[bytes | Model] = (),
        *,
        configuration: KubeVirtConfiguration | None = None,
        architecture: str = DEFAULT_ARCHITECTURE,
    ) -> None:
        self.objects = Objects(objects)
        self._configuration = configuration
        self._architecture = architecture

    def expand(self, vm_json: bytes) -> bytes:
        """The VM with all that its instance type and preference say written out, as JSON from and to bytes."""
        vm = decode(vm_json, VirtualMachine)
        self.expand_in_place(vm)
        return encode(vm)

    def explain(self, vm_json: bytes) -> list[Origin]:
        """Where each field of the expanded VM's template comes from."""
        vm, trace = decode(vm_json, VirtualMachine), Trace()
        self.expand_in_place(vm, trace)
        return list_origins(vm, trace)

    def expand_in_place(self, vm: VirtualMachine, trace: Trace | None = None) -> list[str]:
        """Expand a VM that is the caller's to change; returns what its owner should know."""
        if vm.kind != "VirtualMachine":
            raise StatusError(400, "BadRequest", f"expected a VirtualMachine, got a {vm.kind}")
        lookup = self.objects.find
        try:
            warnings = infer_matchers(vm, lookup)
            shape = find_shape(vm, lookup)
        except NotFoundError as error:
            raise self.suggest(error) from None
        conflicts = expand_vm(vm, shape, self._configuration, self._architecture, trace)
        if conflicts:
            raise StatusError(422, "Invalid", describe_conflicts(conflicts), causes(conflicts))
        return warnings

    def suggest(self, error: NotFoundError) -> NotFoundError:
        """The same error, naming what comes near among the objects held."""
        missing = error.reference
        return error.suggest(self.objects.names(missing.group, missing.kind, missing.namespace))


def list_origins(vm: VirtualMachine, trace: Trace) -> list[Origin]:
    """Where each field of an expanded VM's template came from, as its trace recorded it."""
    return [
        Origin(field, to_tree(value), source) for field, value, source in trace.walk(vm.spec.template, "spec.template")
    ]
