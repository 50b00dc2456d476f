"""
Show how many more VMs of an instance type, or VMs like the one in a request body, fit on the nodes. Nothing is stored.

Callers who may not list nodes get the total number of VMs and the kinds of limits, without details of nodes.
"""

from typing import NamedTuple

from msgspec import Struct

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.compatibility import check_compatibility
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.expand import place_in_namespace
from virtshape.apiserver.subresources.named import Named, read_body, require_few, search_listed, search_named
from virtshape.engine.capacity import Capacity, build_empty_vm, summarize_limits
from virtshape.engine.expand import Shape
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.engine.machinetype import default_architecture
from virtshape.engine.memory import is_open
from virtshape.engine.topology import count_vcpus
from virtshape.resolve.find import instancetype_spec, preference_spec, search_shape
from virtshape.resolve.infer import asks_for_inference, search_matchers
from virtshape.resolve.search import Search


class FitRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """The instance types, or the VM, whose capacity is requested."""

    instancetypes: list[Named] | None = None
    """The instance types to check; by default, all active instance types that set vCPUs and memory."""
    preference: Named | None = None
    """The preference of the VMs."""
    virtual_machine: VirtualMachine | None = None
    """A VM that refers to its own instance type and preference; the result is the number of such VMs that fit."""


class NodeFit(Struct, rename="camel"):
    """A node, the number of VMs that fit on it, and why no further VM fits."""

    node: str
    """The name of the node."""
    fits: int
    """The number of VMs that fit on the node in addition to those that already run there."""
    blocked_by: list[str]
    """The reasons why no further VM fits on the node."""


class FitLimit(Struct):
    """A limit that prevents further VMs, and the number of nodes to which it applies."""

    limit: str
    """The resource that the nodes have too little of, such as `memory`, or a summary of other constraints."""
    nodes: int
    """The number of nodes to which the limit applies."""


class FitItem(Struct, omit_defaults=True, kw_only=True):
    """How many VMs of one size fit on the nodes."""

    instancetype: Named | None = None
    """The instance type; absent if the request contains a VM."""
    vcpus: int
    """The number of vCPUs of each VM."""
    memory: str
    """The guest memory of each VM."""
    fits: int
    """The number of VMs that fit on all nodes together."""
    limits: list[FitLimit]
    """The limits that prevent further VMs, without names of nodes; empty if no node runs VMs."""
    nodes: list[NodeFit] | None = None
    """The result for each node; absent for callers who may not list nodes."""


class FitList(Struct):
    """The capacity for each instance type, or for the VM."""

    items: list[FitItem]
    """One item for each instance type, or one for the VM."""


class FitInputs(NamedTuple):
    """The VMs whose capacity is calculated, each with its instance type and preference, and the configuration."""

    names: list[Named | None]
    vms: list[tuple[VirtualMachine, Shape]]
    configuration: KubeVirtConfiguration | None


def read_fit_request(body: bytes) -> FitRequest:
    """Return the request in a body; raise StatusError 400 if the request is invalid."""
    request = read_body(body or b"{}", FitRequest)
    if request.virtual_machine is not None and (request.instancetypes is not None or request.preference is not None):
        message = "cannot be combined with instancetypes and preference"
        raise StatusError(400, "BadRequest", f"virtualMachine: {message}", [FieldError("virtualMachine", message)])
    require_few("instancetypes", request.instancetypes)
    return request


def search_fit(request: FitRequest, namespace: str, known: Finder) -> Search[FitInputs]:
    """Find the objects that a request refers to; raise StatusError if one does not exist or cannot be used."""
    if request.virtual_machine is not None:
        vm = request.virtual_machine
        place_in_namespace(vm, namespace)
        if asks_for_inference(vm):
            yield from search_matchers(vm)
        shape = yield from search_shape(vm)
        return FitInputs([None], [(vm, shape)], read_configuration((yield CONFIGURATION)))
    preference = None
    if request.preference is not None:
        _, found = yield from search_named("preference", request.preference, namespace, "preference")
        preference = preference_spec(found)
    configuration = read_configuration((yield CONFIGURATION))
    inputs = FitInputs([], [], configuration)
    is_named = request.instancetypes is not None
    for index, (named, found) in enumerate(
        (yield from search_listed("instancetype", request.instancetypes, namespace, known))
    ):
        spec = instancetype_spec(found)
        if spec is None or not (is_named or read_lifecycle(found.metadata).state == "active"):
            continue
        problems = _check_usable(spec, preference, configuration, f"instancetypes[{index}]")
        if problems and is_named:
            raise StatusError(422, "Invalid", "; ".join(f"{named.name}: {one.message}" for one in problems), problems)
        if not problems:
            inputs.names.append(named)
            inputs.vms.append((build_empty_vm(), Shape(spec, preference)))
    return inputs


def _check_usable(
    spec: VirtualMachineInstancetypeSpec,
    preference: VirtualMachinePreferenceSpec | None,
    configuration: KubeVirtConfiguration | None,
    field: str,
) -> list[FieldError]:
    """Return why capacity cannot be computed: the instance type has no size, or does not fit the preference."""
    if not count_vcpus(spec.cpu) or is_open(spec.memory):
        return [FieldError(field, "does not set vCPUs or memory: send a VM that sets them")]
    if preference is None:
        return []
    conflicts = check_compatibility(spec, preference, default_architecture(configuration))
    return [FieldError(field, conflict.message) for conflict in conflicts]


def describe_capacity(named: Named | None, capacity: Capacity, *, with_nodes: bool) -> FitItem:
    """Convert a capacity to the response format; unless `with_nodes` is True, only with totals."""
    limits = [FitLimit(one.limit, one.nodes) for one in summarize_limits(capacity.nodes)]
    nodes = [NodeFit(one.node, one.fits, one.reasons) for one in capacity.nodes] if with_nodes else None
    return FitItem(
        instancetype=named,
        vcpus=capacity.vcpus,
        memory=capacity.memory,
        fits=capacity.fits,
        limits=limits,
        nodes=nodes,
    )
