"""
Run actions on VMs and VMIs: load the object, check the action, and store a change or call the guest.

Callers must have authorized the request.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import msgspec

from virtshape.admission.clusterstate import Steps
from virtshape.admission.vminputs import list_lifecycle_warnings
from virtshape.api.codec import decode
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.message import JSON, PLAIN_TEXT, Request, Response, Upgrade
from virtshape.apiserver.responses import NO_CACHE, add_warning
from virtshape.apiserver.subresources.crossnamespace import Authorize, CallerReads
from virtshape.apiserver.subresources.expand import expand_sent, expand_stored
from virtshape.apiserver.subresources.guestactions import GuestOptions, require_guest_action
from virtshape.apiserver.subresources.guestconnections import AGENT_QUERIES, CONSOLE_LOG, STREAMS, GuestConnections
from virtshape.apiserver.subresources.objects import ObjectStore, get_object
from virtshape.apiserver.subresources.planner import Planner
from virtshape.apiserver.subresources.previews import Previews
from virtshape.apiserver.subresources.protocol import GuestAction, GuestStreams
from virtshape.apiserver.subresources.route import (
    EXPAND,
    KINDS,
    PREVIEWS,
    VIRTUAL_MACHINE_INSTANCES,
    VIRTUAL_MACHINES,
    ActionRoute,
)
from virtshape.apiserver.subresources.startstop import (
    STALE,
    Change,
    RestartOptions,
    StartOptions,
    StopOptions,
    restart,
    start,
    stop,
)
from virtshape.apiserver.subresources.volumes import (
    VOLUME_ACTIONS,
    AddOptions,
    RemoveOptions,
    preview_on_vm,
    read_volume_request,
    request_on_vm,
    request_on_vmi,
)

_MAX_ATTEMPTS: Final = 5
_SNIFFED: Final = (*NO_CACHE, ("x-content-type-options", "nosniff"))
_RUNNING: Final[JsonObject] = {
    "start": (start, StartOptions),
    "stop": (stop, StopOptions),
    "restart": (restart, RestartOptions),
}


class Actions:
    """Runs actions on the VMs and VMIs of an object store."""

    def __init__(
        self, objects: ObjectStore, planner: Planner, streams: GuestStreams | None = None, *, no_hotplug: str = ""
    ) -> None:
        """Set up actions; `no_hotplug` is the reason why volumes cannot be hotplugged, or empty if they can."""
        self._objects = objects
        self._previews = Previews(objects, planner)
        self._no_hotplug = no_hotplug
        self._connections = GuestConnections(streams)

    async def answer(self, request: Request, route: ActionRoute, authorize: Authorize) -> Response | Upgrade:
        """Run an action and return its response; `authorize` checks further permissions of the caller."""
        if route.action in STREAMS:
            return await self.open(request, route)
        if route.action in AGENT_QUERIES or route.action == CONSOLE_LOG:
            return await self.ask(route)
        if route.verb == "get" or not route.action:
            return await self.read(request, route, authorize)
        return await self.write(request, route)

    async def read(self, request: Request, route: ActionRoute, authorize: Authorize) -> Response:
        """Run an action that only reads objects: such an action needs no running guest and changes nothing."""
        if route.resource in PREVIEWS:
            return Response(200, await self._previews.answer(request.body, route, authorize), headers=_SNIFFED)
        reads = CallerReads(route.namespace, authorize)
        start: Callable[[], Steps[bytes]]
        if route.resource == EXPAND:
            start = partial(expand_sent, request.body, route.namespace)
        else:
            start = partial(expand_stored, await self._get(KINDS[VIRTUAL_MACHINES], route, "virtualmachine"))
        return Response(200, await self._objects.run(start, reads), headers=_SNIFFED)

    async def ask(self, route: ActionRoute) -> Response:
        """Return data from the guest: the response to an agent query, or the console log."""
        body = await self._connections.ask(route, await self._get_instance(route))
        content_type = PLAIN_TEXT if route.action == CONSOLE_LOG else JSON
        return Response(200, body, content_type, _SNIFFED)

    async def open(self, request: Request, route: ActionRoute) -> Upgrade:
        """Open a stream to a guest."""
        if route.resource == VIRTUAL_MACHINES:
            await self._get(KINDS[VIRTUAL_MACHINES], route, "virtualmachine")
        return await self._connections.open(request, route, await self._get_instance(route))

    async def write(self, request: Request, route: ActionRoute) -> Response:
        """Run an action that changes a VM or a guest; the response is 202 Accepted."""
        if route.action in VOLUME_ACTIONS:
            return await self._change_volumes(request, route)
        if route.resource == VIRTUAL_MACHINE_INSTANCES:
            return await self._ask_guest(request, route)
        decide, options_type = _RUNNING[route.action]
        options = _read_options(request.body, options_type)
        vm = decode(await self._get(KINDS[VIRTUAL_MACHINES], route, "virtualmachine"), VirtualMachine)
        vmi = await self._find_instance(route)
        change: Change = decide(vm, vmi, options)
        dry_run = bool(options.dry_run)
        if isinstance(options, StopOptions) and options.grace_period is not None and vmi is not None:
            shorter = Change("spec", {"terminationGracePeriodSeconds": options.grace_period})
            await self._change(request, KINDS[VIRTUAL_MACHINE_INSTANCES], route, shorter, dry_run=dry_run)
        await self._change(request, KINDS[VIRTUAL_MACHINES], route, change, dry_run=dry_run)
        response = _accept(request, options_type)
        if route.action != "stop":
            for warning in list_lifecycle_warnings(vm, self._objects.cluster.known):
                add_warning(response, warning)
        return response

    async def _change_volumes(self, request: Request, route: ActionRoute) -> Response:
        """Attach or detach a volume; retry if the object changes in the meantime."""
        if self._no_hotplug:
            raise StatusError(400, "BadRequest", self._no_hotplug)
        options = _read_options(request.body, VOLUME_ACTIONS[route.action])
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                await self._request_volume(request, route, options)
                break
            except StatusError as error:
                if not attempts_left or not error.message.endswith(STALE):
                    raise
        return _accept(request, VOLUME_ACTIONS[route.action])

    async def _request_volume(self, request: Request, route: ActionRoute, options: AddOptions | RemoveOptions) -> None:
        wanted, dry_run = read_volume_request(options), bool(options.dry_run)
        kind = KINDS[route.resource]
        data = await self._get(kind, route, kind.kind.lower())
        if route.resource == VIRTUAL_MACHINE_INSTANCES:
            change = request_on_vmi(decode(data, VirtualMachineInstance), wanted)
        else:
            vm = decode(data, VirtualMachine)
            change = request_on_vm(vm, wanted)
            preview = preview_on_vm(vm, wanted)
            # Dry run now: the client would not see an error that occurs later, when the controller applies the change.
            if preview is not None:
                await self._change(request, kind, route, preview, dry_run=True)
        stored = msgspec.json.decode(data).get(change.part) or {}
        expected = {field: stored.get(field) for field in change.values}
        await self._change(request, kind, route, change._replace(expected=expected), dry_run=dry_run)

    async def _ask_guest(self, request: Request, route: ActionRoute) -> Response:
        options = _read_options(request.body, GuestOptions)
        vmi = await self._get_instance(route)
        require_guest_action(vmi, route.action)
        if not options.dry_run:
            await self._connections.act(vmi, cast("GuestAction", route.action))
        return _accept(request, GuestOptions)

    async def _get_instance(self, route: ActionRoute) -> VirtualMachineInstance:
        return decode(
            await self._get(KINDS[VIRTUAL_MACHINE_INSTANCES], route, "virtualmachineinstance"), VirtualMachineInstance
        )

    async def _get(self, kind: Kind, route: ActionRoute, called: str) -> bytes:
        return await get_object(self._objects, kind, route.namespace, route.name, called)

    async def _find_instance(self, route: ActionRoute) -> VirtualMachineInstance | None:
        found = await self._objects.find(KINDS[VIRTUAL_MACHINE_INSTANCES], route.namespace, route.name)
        return decode(found, VirtualMachineInstance) if found is not None else None

    async def _change(self, request: Request, kind: Kind, route: ActionRoute, change: Change, *, dry_run: bool) -> None:
        await self._objects.change(request, kind, route.namespace, route.name, change, dry_run=dry_run)


def _accept(request: Request, struct: type[Any]) -> Response:
    """Return the response to an accepted action, with warnings about unknown options."""
    response = Response(202, b"", "", _SNIFFED)
    given = msgspec.json.decode(request.body, type=dict[str, msgspec.Raw]) if request.body.strip() else {}
    known = {"apiVersion", "kind", *struct.__struct_encode_fields__}
    for name in reversed([name for name in given if name not in known]):
        add_warning(response, f'unknown field "{name}"')
    return response


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
