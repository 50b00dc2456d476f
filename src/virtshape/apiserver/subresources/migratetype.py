"""
Preview what `virtctl migrate-type` would do: move a stored VM to another instance type or preference.

Nothing is stored.
"""

from msgspec import Struct

from virtshape.admission.clusterstate import CONFIGURATION, read_configuration
from virtshape.api.codec import encode
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher, VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.named import Named, read_body
from virtshape.apiserver.subresources.planner import Planner
from virtshape.resolve.matcher import Role, full_kind
from virtshape.resolve.move import Destination, describe_move
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import Search


class MoveRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """A VM, and either the instance type or the preference that it would use; exactly one of the two must be set."""

    virtual_machine: str
    """The name of the VM."""
    instancetype: Named | None = None
    """The instance type that the VM would use."""
    preference: Named | None = None
    """The preference that the VM would use."""


def read_move_request(body: bytes) -> tuple[str, Destination]:
    """Return the name of the VM and its destination; raise StatusError 400 or 422 if the request is invalid."""
    request = read_body(body, MoveRequest)
    if (request.instancetype is None) == (request.preference is None):
        message = "set either instancetype or preference"
        raise StatusError(400, "BadRequest", message, [FieldError("instancetype", message)])
    role: Role = "instancetype" if request.instancetype is not None else "preference"
    named = request.instancetype or request.preference
    assert named is not None  # noqa: S101 - one of the two is set
    kind = full_kind(InstancetypeMatcher(name=named.name, kind=named.kind), role)
    return request.virtual_machine, Destination(role, kind, named.name)


def search_move(
    vm: VirtualMachine, vmi: VirtualMachineInstance | None, to: Destination, planner: Planner
) -> Search[bytes]:
    """Return the preview as JSON; raise StatusError if an object is missing."""
    configuration = read_configuration((yield CONFIGURATION))
    known: dict[Reference, Model | None] = {}
    while True:
        missing: dict[Reference, None] = {}

        def look_up(reference: Reference, missing: dict[Reference, None] = missing) -> Model | None:
            if reference not in known:
                missing[reference] = None
            return known.get(reference)

        try:
            move = planner.plan_move(vm, vmi, to, look_up, configuration)
        except StatusError:
            if not missing:
                raise
        else:
            if not missing:
                return encode(describe_move(move))
        for reference in missing:
            known[reference] = yield reference
