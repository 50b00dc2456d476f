"""
Expand a stored VM or a VM in a request body. Nothing is stored.

Expansion is a generator that yields references to objects. The code that runs the generator sends it the objects that
the caller may read.
"""

from collections.abc import Callable
from typing import NoReturn

import msgspec
from msgspec.structs import replace

from virtshape.admission.clusterstate import CONFIGURATION, read_configuration
from virtshape.api.codec import decode, encode
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import ResourceRequirements
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.engine.conflicts import describe_conflicts
from virtshape.engine.expand import expand_vm
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import search_shape
from virtshape.resolve.infer import asks_for_inference, search_matchers
from virtshape.resolve.search import Search

Refuse = Callable[[str, tuple[FieldError, ...]], NoReturn]


def expand_stored(data: bytes) -> Search[bytes]:
    """Expand a stored VM with its instance type and preference; raise StatusError 500 on failure, as in KubeVirt."""
    return _expand(decode(data, VirtualMachine), _refuse_internal)


def expand_sent(data: bytes, namespace: str) -> Search[bytes]:
    """Expand the VM in a request body with its instance type and preference; raise StatusError 400 on failure."""
    return _expand(read_sent(data, namespace), _refuse_sent)


def read_sent(data: bytes, namespace: str) -> VirtualMachine:
    """Return the VM in a body, in this namespace; raise StatusError 400 if it is invalid or in another namespace."""
    vm = _read(data)
    place_in_namespace(vm, namespace)
    return vm


def place_in_namespace(vm: VirtualMachine, namespace: str) -> None:
    """Set the namespace of the VM in a request body; raise StatusError 400 if the VM has another namespace."""
    if vm.metadata.namespace and vm.metadata.namespace != namespace:
        raise StatusError(400, "BadRequest", f"VM namespace must be empty or {namespace}")
    vm.metadata = replace(vm.metadata, namespace=namespace)


def _read(data: bytes) -> VirtualMachine:
    if not data:
        raise StatusError(400, "BadRequest", "empty request body: send a VirtualMachine")
    try:
        tree = msgspec.json.decode(data)
        if not isinstance(tree, dict) or tree.get("kind") != "VirtualMachine":
            raise StatusError(400, "BadRequest", "Object is not a valid VirtualMachine")
        return decode(data, VirtualMachine)
    except DecodeError as error:
        message = f"Object is not a valid VirtualMachine: {error.message}"
        raise StatusError(400, "BadRequest", message, error.causes) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"Can not unmarshal Request body to struct, error: {error}") from None


def _expand(vm: VirtualMachine, refuse: Refuse) -> Search[bytes]:
    try:
        if asks_for_inference(vm):
            yield from search_matchers(vm)
        shape = yield from search_shape(vm)
    except StatusError as error:
        refuse(error.message, error.causes)
    configuration = read_configuration((yield CONFIGURATION))
    conflicts = expand_vm(vm, shape, configuration, default_architecture(configuration))
    if conflicts:
        refuse(describe_conflicts(conflicts), tuple(conflicts))
    add_empty_members(vm)
    return encode(vm)


def add_empty_members(vm: VirtualMachine) -> None:
    """Add the fields that KubeVirt writes even if they are empty."""
    template = vm.spec.template
    template.metadata = template.metadata or ObjectMeta()
    if template.spec is not None:
        template.spec.domain.resources = template.spec.domain.resources or ResourceRequirements()
    vm.status = vm.status or VirtualMachineStatus()


def _refuse_internal(message: str, details: tuple[FieldError, ...]) -> NoReturn:
    raise StatusError(
        500, "InternalError", f"Internal error occurred: {message}", details or [FieldError("", message, "")]
    )


def _refuse_sent(message: str, details: tuple[FieldError, ...]) -> NoReturn:
    raise StatusError(400, "BadRequest", message, details)
