"""Read a VM from the server or files, with its instance type and preference, and build the spec of its instance."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from virtshape import catalog as builtin
from virtshape.api.codec import duplicate
from virtshape.api.kinds import find_kind
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError, suggest
from virtshape.cli.expand import fetch_references, find_configuration, remove_managed_fields
from virtshape.cli.serverobjects import ServerObjects
from virtshape.cli.vm import explain_vm_error, parse_vm_name
from virtshape.client.resources import format_target
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.engine.expand import Shape
from virtshape.engine.machinetype import default_architecture
from virtshape.offline.files import Entry
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.matcher import INSTANCETYPE_GROUP
from virtshape.resolve.reference import Lookup, Reference


class ResolvedVM(NamedTuple):
    """A VM, its instance type and preference, and the spec of the instance that it starts."""

    tree: JsonObject
    vm: VirtualMachine
    shape: Shape
    spec: VirtualMachineInstanceSpec
    configuration: KubeVirtConfiguration | None

    @property
    def name(self) -> str:
        """The VM's name."""
        return self.vm.metadata.name or ""

    def build_spec(self, vm: VirtualMachine, shape: Shape) -> VirtualMachineInstanceSpec:
        """Return the spec that the instance of a changed VM would have; raise StatusError on conflicts."""
        return _build_spec(vm, shape, self.configuration)


async def read_vm(session: Session, text: str) -> ResolvedVM:
    """Read a VM and the objects it refers to from the server."""
    name = parse_vm_name(text)
    kind = find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None  # noqa: S101 - served by every KubeVirt
    try:
        reply = await session.client.request("GET", format_target(kind, session.namespace, name))
    except StatusError as error:
        raise await explain_vm_error(session, name, "get", error) from error
    tree = remove_managed_fields(msgspec.json.decode(reply.body))
    vm: VirtualMachine = decode_with_unknown(tree, VirtualMachine)[0]
    found = Objects(await fetch_references(ServerObjects(session), vm))
    return _resolve(tree, vm, found.find, await find_configuration(session))


def find_vm(entries: Sequence[Entry], text: str) -> ResolvedVM:
    """Return a VM in files; instance types and preferences that are not in the files are looked up in the catalog."""
    name = parse_vm_name(text)
    vms = [entry for entry in entries if isinstance(entry.object, VirtualMachine)]
    found = [entry for entry in vms if entry.object.metadata.name == name]
    if len(found) != 1:
        problem = "not found in the files" if not found else f"is ambiguous: {', '.join(one.place for one in found)}"
        hint = "" if found else suggest(name, [entry.object.metadata.name or "" for entry in vms])
        raise CommandError(f'VM "{name}" {problem}{hint}', next_step="Select a VM with -f and -n.")
    objects = Objects(entry.object for entry in entries if not isinstance(entry.object, VirtualMachine))

    def look_up(reference: Reference) -> Model | None:
        is_built_in = reference.group == INSTANCETYPE_GROUP
        return objects.find(reference) or (builtin.find(reference.kind, reference.name) if is_built_in else None)

    installed = [entry.object.spec.configuration for entry in entries if isinstance(entry.object, KubeVirt)]
    return _resolve(found[0].document.tree, found[0].object, look_up, installed[0] if installed else None)


def _resolve(
    tree: JsonObject, vm: VirtualMachine, lookup: Lookup, configuration: KubeVirtConfiguration | None
) -> ResolvedVM:
    inferred = duplicate(vm)
    infer_matchers(inferred, lookup)
    shape = get_shape(inferred, lookup)
    return ResolvedVM(tree, vm, shape, _build_spec(inferred, shape, configuration), configuration)


def _build_spec(
    vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None
) -> VirtualMachineInstanceSpec:
    """Return the spec of the VM's instance; unset sockets, cores and threads are 1, so that specs can be compared."""
    _, spec = make_instance(vm, shape, configuration, default_architecture(configuration), firmware_uuid="")
    cpu = spec.domain.cpu = spec.domain.cpu or CPU()
    cpu.sockets, cpu.cores, cpu.threads = cpu.sockets or 1, cpu.cores or 1, cpu.threads or 1
    return spec
