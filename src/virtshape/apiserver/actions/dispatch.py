"""
Carries out actions on VMs and VMIs: finds what they are about, has them decided, and writes what comes of them.

Who may ask is settled before.
"""

from typing import Any, Final, cast

import msgspec

from virtshape.admission.world import World
from virtshape.api.codec import decode
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.moment import now
from virtshape.api.status import StatusError
from virtshape.apiserver.access.authentication import User
from virtshape.apiserver.actions.door import GuestAction, GuestDoor
from virtshape.apiserver.actions.expanding import expand_sent, expand_stored
from virtshape.apiserver.actions.guests import GuestOptions, check_guest_action
from virtshape.apiserver.actions.route import INSTANCES, KINDS, MACHINES, ActionRoute
from virtshape.apiserver.actions.running import Change, RestartOptions, StartOptions, StopOptions, restart, start, stop
from virtshape.apiserver.actions.visiting import CONSOLE_LOG, Visits
from virtshape.apiserver.answers import NO_CACHE
from virtshape.apiserver.message import JSON, PLAIN_TEXT, Request, Response, Upgrade
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.shaping import SYSTEM_ACCOUNTS
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.apiserver.writing import Desk, change_object
from virtshape.store.record import Record

_SNIFFED: Final = (*NO_CACHE, ("x-content-type-options", "nosniff"))
_MANAGER: Final = "virt-api"
_SYSTEM: Final = User(f"{SYSTEM_ACCOUNTS}virtshape-api")
_RUNNING: Final[dict[str, Any]] = {
    "start": (start, StartOptions),
    "stop": (stop, StopOptions),
    "restart": (restart, RestartOptions),
}


class Actions:
    """Carries out actions on what is stored."""

    def __init__(self, desk: Desk, world: World, door: GuestDoor | None = None) -> None:
        self._desk = desk
        self._world = world
        self._visits = Visits(door)

    def read(self, request: Request, route: ActionRoute) -> Response:
        """Answer an action that needs no guest and changes nothing."""
        if route.action == "expand-spec":
            record = self._get(KINDS[MACHINES], route, "virtualmachine")
            return Response(200, expand_stored(record.value, self._world), headers=_SNIFFED)
        return Response(200, expand_sent(request.body, route.namespace, self._world), headers=_SNIFFED)

    async def ask(self, route: ActionRoute) -> Response:
        """Answer a question that only a guest can answer."""
        told = await self._visits.ask(route, self._get_instance(route))
        content_type = PLAIN_TEXT if route.action == CONSOLE_LOG else JSON
        return Response(200, told, content_type, _SNIFFED)

    async def open(self, request: Request, route: ActionRoute) -> Upgrade:
        """Open a stream to a guest."""
        if route.resource == MACHINES:
            self._get(KINDS[MACHINES], route, "virtualmachine")
        return await self._visits.open(request, route, self._get_instance(route))

    async def write(self, request: Request, route: ActionRoute) -> Response:
        """Carry out an action; the answer says no more than that it was taken on."""
        if route.resource == INSTANCES:
            return await self._ask_guest(request, route)
        decide, options_type = _RUNNING[route.action]
        options = _read_options(request.body, options_type)
        vm = decode(self._get(KINDS[MACHINES], route, "virtualmachine").value, VirtualMachine)
        vmi = self._find_instance(route)
        change: Change = decide(vm, vmi, options)
        dry_run = bool(options.dry_run)
        if isinstance(options, StopOptions) and options.grace_period is not None and vmi is not None:
            shorter = Change("spec", {"terminationGracePeriodSeconds": options.grace_period})
            await self._change(request, KINDS[INSTANCES], route, shorter, dry_run=dry_run)
        await self._change(request, KINDS[MACHINES], route, change, dry_run=dry_run)
        return Response(202, b"", "", _SNIFFED)

    async def _ask_guest(self, request: Request, route: ActionRoute) -> Response:
        options = _read_options(request.body, GuestOptions)
        vmi = self._get_instance(route)
        check_guest_action(vmi, route.action)
        if not options.dry_run:
            await self._visits.act(vmi, cast("GuestAction", route.action))
        return Response(202, b"", "", _SNIFFED)

    def _get_instance(self, route: ActionRoute) -> VirtualMachineInstance:
        return decode(self._get(KINDS[INSTANCES], route, "virtualmachineinstance").value, VirtualMachineInstance)

    def _get(self, kind: Kind, route: ActionRoute, called: str) -> Record:
        record = self._desk.store.get(resource_of(kind).key(route.namespace, route.name))
        if record is None:
            error = StatusError(404, "NotFound", f'{called}.kubevirt.io "{route.name}" not found')
            raise error.about("kubevirt.io", called, route.name)
        return record

    def _find_instance(self, route: ActionRoute) -> VirtualMachineInstance | None:
        record = self._desk.store.get(resource_of(KINDS[INSTANCES]).key(route.namespace, route.name))
        return decode(record.value, VirtualMachineInstance) if record is not None else None

    async def _change(self, request: Request, kind: Kind, route: ActionRoute, change: Change, *, dry_run: bool) -> None:
        subresource = "status" if change.part == "status" else ""
        target = Route("update", kind, route.namespace, route.name, subresource)
        options = WriteOptions(manager=_MANAGER, dry_run=dry_run, validation="Ignore", force=False, now=now())

        def apply(old: Tree, _: Record) -> Tree:
            return {**old, change.part: {**(old.get(change.part) or {}), **change.values}}

        await change_object(self._desk, request, target, _SYSTEM, options, apply, [], retries=True)


def _read_options(body: bytes, struct: type[Any]) -> Any:
    if not body.strip():
        return struct()
    try:
        options = msgspec.json.decode(body, type=struct)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StatusError(400, "BadRequest", f"Can not unmarshal Request body to struct, error: {error}") from None
    unknown = [value for value in options.dry_run if value != "All"]
    if unknown:
        raise StatusError(400, "BadRequest", f"Unsupported value: {unknown}: supported values: [All]")
    return options
