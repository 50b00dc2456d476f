"""
Derive a new instance type with another size from an existing one, as `virtctl customize` does. Nothing is stored.

If the source cannot have the new size, for example because its sizing policy excludes it, the result contains the
reasons.
"""

from typing import Any, Final

from msgspec import Struct

from virtshape.api.codec import encode, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.explain import Problem, describe_problems
from virtshape.apiserver.subresources.named import Named, read_body, search_named
from virtshape.engine.customize import OPEN, Size, check_size, customize
from virtshape.resolve.search import Search

_SIZES: Final = ("vcpus", "memory")


class CustomizeRequest(Struct, forbid_unknown_fields=True):
    """The instance type to copy, and the name and size of the copy; absent sizes are copied from the source."""

    source: Named
    """The instance type to copy."""
    name: str
    """The name of the new instance type."""
    cluster: bool = False
    """True if the new instance type is cluster-wide."""
    vcpus: int | None = None
    """The number of vCPUs of the new instance type."""
    topology: CPUTopology | None = None
    """The exact sockets, cores and threads, instead of a number of vCPUs."""
    memory: Quantity | None = None
    """The guest memory of the new instance type."""
    open: list[str] | None = None
    """The sizes that the new instance type does not set, so that each VM sets them: `vcpus`, `memory` or both."""


class CustomizedInstancetype(Struct, omit_defaults=True):
    """The new instance type, or the reasons why the source cannot have this size."""

    problems: list[Problem]
    """The reasons why the source cannot have this size, with the fields of the new instance type."""
    instancetype: Any = None
    """The new instance type; absent if there are problems."""


def read_customize_request(body: bytes) -> CustomizeRequest:
    """Return the request in a body; raise StatusError 400 with all problems if the request is invalid."""
    request = read_body(body, CustomizeRequest)
    problems = [
        FieldError(f"open[{index}]", f'unknown size "{size}": must be vcpus or memory')
        for index, size in enumerate(request.open or ())
        if size not in _SIZES
    ]
    if request.vcpus is not None and request.vcpus < 1:
        problems.append(FieldError("vcpus", "must be at least 1"))
    if request.memory is not None and request.memory.amount <= 0:
        problems.append(FieldError("memory", "must be greater than 0"))
    problems += [
        FieldError(size, "must not be set if open lists this size")
        for size in _SIZES
        if getattr(request, size) is not None and size in (request.open or ())
    ]
    if problems:
        raise StatusError(400, "BadRequest", "; ".join(f"{one.field}: {one.message}" for one in problems), problems)
    return request


def search_customized(request: CustomizeRequest, namespace: str) -> Search[bytes]:
    """Return the new instance type or the problems as JSON; raise StatusError if the source does not exist."""
    _, source = yield from search_named("instancetype", request.source, namespace, "source")
    opened = request.open or ()
    size = Size(
        OPEN if "vcpus" in opened else request.vcpus,
        request.topology,
        OPEN if "memory" in opened else request.memory,
    )
    problems = check_size(source, size)
    if problems:
        return encode(CustomizedInstancetype(describe_problems(problems)))
    made = to_tree(customize(source, request.name, size, cluster=request.cluster))
    if not request.cluster:
        made["metadata"]["namespace"] = namespace
    return encode(CustomizedInstancetype([], made))
