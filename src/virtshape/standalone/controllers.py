"""The controllers in the server's process: the VM controllers, and those that a Kubernetes cluster would run."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from virtshape import catalog
from virtshape.api.codec import encode
from virtshape.api.core.event import Event
from virtshape.api.core.namespace import Namespace
from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.apiserver.handler import Server
from virtshape.apiserver.supportedverbs import is_create_only, list_verbs
from virtshape.client.errors import parse_status_error
from virtshape.client.protocol import Client
from virtshape.client.resources import format_target, kind_of, metadata_of
from virtshape.client.transport import Call, Transport
from virtshape.controllers.eventexpiry import EventExpiry
from virtshape.controllers.garbage.collector import GarbageCollector
from virtshape.controllers.manager import Controllers, make_informers
from virtshape.controllers.namespaces import NamespaceReconciler
from virtshape.controllers.runtime.loop import Loop, Name
from virtshape.controllers.vmi.launcher import Launcher
from virtshape.standalone.guestruntimes import Runtime
from virtshape.standalone.inprocesstransport import InProcessTransport, connect
from virtshape.standalone.storage.local import open_storage
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import EVENT_EXPIRY

MANAGER: Final = "virt-controller"


@asynccontextmanager
async def run_controllers(
    server: Server,
    runtime: Runtime,
    directory: Path | None = None,
    *,
    supervisor: Supervisor,
    with_catalog: bool = False,
    wrap: Callable[[Client], Client] = lambda client: client,
) -> AsyncIterator[Controllers]:
    """
    Run all controllers during the `async with` block, with the client that `wrap` returns.

    With `with_catalog`, the objects of the catalog are created and removed according to the configuration. Volumes are
    stored in `directory`; if it is None, or if guests are simulated, there is no storage.
    """
    client = wrap(connect(server, CONTROLLER_USER, manager=MANAGER, with_managed_fields=False))
    async with AsyncExitStack() as stack:
        storage = None
        if directory is not None and runtime.keeps_volumes:
            storage = await stack.enter_async_context(open_storage(directory, supervisor))
        informers, transport = make_informers(client), InProcessTransport(server, CONTROLLER_USER)

        def open_launcher() -> Awaitable[Launcher]:
            return runtime.make_launcher(client, transport, informers, storage)

        controllers = Controllers(
            client,
            supervisor=supervisor,
            open_launcher=open_launcher if runtime.node else None,
            node=runtime.node,
            storage=storage,
            informers=informers,
            no_launcher_reason=runtime.unavailable_reason,
            load_catalog=catalog.load if with_catalog else tuple,
        )
        controllers.add_loop(_build_namespaces(client, controllers, transport))
        collector = GarbageCollector(client, [kind for kind in list_stored() if kind is not Event])
        await stack.enter_async_context(controllers.running())
        await stack.enter_async_context(collector.running(supervisor))
        await stack.enter_async_context(supervisor.running(EVENT_EXPIRY, EventExpiry(client, time.time).run))
        yield controllers


async def run_controllers_forever(
    server: Server,
    runtime: Runtime,
    directory: Path,
    supervisor: Supervisor,
    *,
    with_catalog: bool,
    on_change: Callable[[Controllers | None], None],
) -> None:
    """
    Run the controllers until cancelled; the supervisor retries if they cannot start.

    `on_change` is called with the controllers when they run, and with None when they stop.
    """
    running = run_controllers(server, runtime, directory, supervisor=supervisor, with_catalog=with_catalog)
    async with running as controllers:
        on_change(controllers)
        try:
            await asyncio.Event().wait()
        finally:
            on_change(None)


def list_stored(*, namespaced: bool = False) -> list[type[Model]]:
    """Return the structs of all kinds that are stored; if `namespaced` is True, only of namespaced kinds."""
    structs: dict[tuple[str, str], type[Model]] = {}
    for kind in KINDS:
        stored = not is_create_only(kind) and {"list", "watch", "delete"} <= set(list_verbs(kind))
        if stored and kind.kind != "CustomResourceDefinition" and (kind.namespaced or not namespaced):
            structs.setdefault((kind.group, kind.kind), kind.struct)
    return list(structs.values())


def _build_namespaces(client: Client, controllers: Controllers, transport: Transport) -> Loop:
    async def finalize(namespace: Namespace) -> None:
        target = format_target(kind_of(Namespace), "", metadata_of(namespace).name or "", "finalize")
        headers = {"content-type": "application/json", "accept": "application/json"}
        reply = await transport.call(Call("PUT", target, headers, encode(namespace)))
        if reply.status >= 400:
            raise parse_status_error(reply.body, reply.status)

    informers = controllers.informers
    reconciler = NamespaceReconciler(client, informers, list_stored(namespaced=True), finalize)
    loop = Loop("namespace", reconciler.reconcile)
    informers.add(Namespace).handle(lambda change: loop.queue.add(Name("", metadata_of(change.item).name or "")))
    return loop
