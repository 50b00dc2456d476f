"""
Expand a stored VM or a VM in a request body.

Nothing is stored. The lookup finds only objects that the caller may read.
"""

from collections.abc import Callable
from typing import NoReturn

import msgspec

from virtshape.admission.clusterstate import ClusterState
from virtshape.api.codec import decode, encode
from virtshape.api.kubevirt.domain import ResourceRequirements
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.problems import DecodeError
from virtshape.api.status import Cause, StatusError
from virtshape.engine.conflict import causes, describe_conflicts
from virtshape.engine.expand import expand_vm
from virtshape.resolve.find import find_shape
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.reference import Lookup

Refuse = Callable[[str, tuple[Cause, ...]], NoReturn]


def expand_stored(data: bytes, state: ClusterState, lookup: Lookup) -> bytes:
    """Return the stored VM with its instance type and preference expanded; raise 500 on failure, as KubeVirt does."""
    return _expand(decode(data, VirtualMachine), state, lookup, _refuse_internal)


def expand_sent(data: bytes, namespace: str, state: ClusterState, lookup: Lookup) -> bytes:
    """Return the VM of a request body with its instance type and preference expanded; raise 400 on failure."""
    vm = _read(data)
    metadata = vm.metadata = vm.metadata or ObjectMeta()
    if metadata.namespace and metadata.namespace != namespace:
        raise StatusError(400, "BadRequest", f"VM namespace must be empty or {namespace}")
    metadata.namespace = namespace
    return _expand(vm, state, lookup, _refuse_sent)


def _read(data: bytes) -> VirtualMachine:
    if not data:
        raise StatusError(400, "BadRequest", "empty request body: send the VirtualMachine to expand")
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


def _expand(vm: VirtualMachine, state: ClusterState, lookup: Lookup, refuse: Refuse) -> bytes:
    try:
        infer_matchers(vm, lookup)
        shape = find_shape(vm, lookup)
    except StatusError as error:
        refuse(error.message, error.causes)
    conflicts = expand_vm(vm, shape, state.configuration, state.architecture)
    if conflicts:
        refuse(describe_conflicts(conflicts), tuple(causes(conflicts)))
    template = vm.spec.template
    template.metadata = template.metadata or ObjectMeta()
    if template.spec is not None:
        template.spec.domain.resources = template.spec.domain.resources or ResourceRequirements()
    vm.status = vm.status or VirtualMachineStatus()
    return encode(vm)


def _refuse_internal(message: str, details: tuple[Cause, ...]) -> NoReturn:
    raise StatusError(500, "InternalError", f"Internal error occurred: {message}", details or [Cause("", message, "")])


def _refuse_sent(message: str, details: tuple[Cause, ...]) -> NoReturn:
    raise StatusError(400, "BadRequest", message, details)
