"""Routes of the subresource API: determine the object and the action of a request from its path and method."""

from typing import Final, Literal

from msgspec import Struct

from virtshape.api.kinds import Kind, find_kind
from virtshape.apiserver.message import Request
from virtshape.apiserver.route import Route
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS

PREFIX: Final = f"/apis/{ACTION_GROUP}/"
VIRTUAL_MACHINES: Final = "virtualmachines"
VIRTUAL_MACHINE_INSTANCES: Final = "virtualmachineinstances"
EXPAND: Final = "expand-vm-spec"
EXPLAIN: Final = "explain-vm-spec"
COMPATIBILITY: Final = "check-compatibility"
CUSTOMIZE: Final = "customize-instancetype"
FIT: Final = "check-fit"
IMPORT: Final = "preview-import"
MIGRATE_TYPE: Final = "preview-migrate-type"
RECOMMEND: Final = "recommend-instancetypes"
PREVIEWS: Final = (COMPATIBILITY, CUSTOMIZE, FIT, EXPLAIN, IMPORT, MIGRATE_TYPE, RECOMMEND)
"""Resources that compute a result from objects and store nothing; all users who may use VMs may use these."""

Verb = Literal["get", "update"]

_METHODS: Final[dict[tuple[str, str], tuple[Verb, tuple[str, ...]]]] = {
    (VIRTUAL_MACHINES, "start"): ("update", ("PUT",)),
    (VIRTUAL_MACHINES, "stop"): ("update", ("PUT",)),
    (VIRTUAL_MACHINES, "restart"): ("update", ("PUT",)),
    (VIRTUAL_MACHINES, "addvolume"): ("update", ("PUT",)),
    (VIRTUAL_MACHINES, "removevolume"): ("update", ("PUT",)),
    (VIRTUAL_MACHINES, "expand-spec"): ("get", ("GET",)),
    (VIRTUAL_MACHINES, "portforward"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "pause"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "unpause"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "softreboot"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "reset"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "addvolume"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "removevolume"): ("update", ("PUT",)),
    (VIRTUAL_MACHINE_INSTANCES, "console"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "portforward"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "vnc"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "guestosinfo"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "userlist"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "filesystemlist"): ("get", ("GET",)),
    (VIRTUAL_MACHINE_INSTANCES, "consolelog"): ("get", ("GET",)),
    (EXPAND, ""): ("update", ("PUT",)),
    **{(preview, ""): ("update", ("PUT",)) for preview in PREVIEWS},
}


class ActionRoute(Struct, frozen=True):
    """
    One action on one object; `resource`, `action` and `arguments` are parts of the path.

    `verb` is None for an unsupported method.
    """

    version: str
    namespace: str
    resource: str
    name: str
    action: str
    verb: Verb | None
    arguments: tuple[str, ...] = ()

    @property
    def audited(self) -> Route:
        """The route that authorization and the audit log use for this action."""
        kind = KINDS[self.resource]._replace(group=ACTION_GROUP, version=self.version, plural=self.resource)
        return Route(self.verb, kind, self.namespace, self.name, self.action)


def _get_kind(name: str) -> Kind:
    kind = find_kind("kubevirt.io/v1", name)
    assert kind is not None  # noqa: S101 - the table of kinds has them
    return kind


KINDS: Final = {
    VIRTUAL_MACHINES: _get_kind("VirtualMachine"),
    VIRTUAL_MACHINE_INSTANCES: _get_kind("VirtualMachineInstance"),
    EXPAND: _get_kind("VirtualMachine"),
    **{preview: _get_kind("VirtualMachine") for preview in PREVIEWS},
}
"""The kind of each resource that has actions."""


def find_action(request: Request) -> ActionRoute | None:
    """Return the route of a request, or None if the path is not that of an action."""
    match request.path.removeprefix(PREFIX).split("/"):
        case [version, "namespaces", namespace, resource, name, action, *arguments]:
            pass
        case [version, "namespaces", namespace, resource]:
            name = action = ""
            arguments = []
        case _:
            return None
    known = _METHODS.get((resource, action))
    if known is None or version not in ACTION_VERSIONS or not namespace or (action and not name):
        return None
    if not _takes(action, arguments):
        return None
    verb, methods = known
    allowed = verb if request.method in methods else None
    return ActionRoute(version, namespace, resource, name, action, allowed, tuple(arguments))


def _takes(action: str, arguments: list[str]) -> bool:
    """Return True if an action accepts these arguments: a port and an optional protocol for portforward, else none."""
    if action != "portforward":
        return not arguments
    return len(arguments) in (1, 2) and all(arguments) and arguments[0].isdecimal() and arguments[0].isascii()
