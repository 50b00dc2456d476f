"""The standalone server: builds the API server, the controllers and the guest runtime of one data directory."""

import asyncio
import contextlib
import logging
import signal
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from virtshape.api.times import now
from virtshape.apiserver.admission.claimupdates import ClaimAdmission
from virtshape.apiserver.admission.core import BasicAdmission, Chain
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER, KubeVirtAdmission
from virtshape.apiserver.admission.quotas import QuotaAdmission
from virtshape.apiserver.admission.rbac import RbacAdmission
from virtshape.apiserver.admission.storestate import StoreState
from virtshape.apiserver.audit import AuditLog
from virtshape.apiserver.auth.authentication import Authenticator, Credential
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.auth.certificates import CERTIFICATE_LIFETIME
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.pki import Pki
from virtshape.apiserver.auth.privatefile import make_private_directory
from virtshape.apiserver.auth.reviews import AuthContext
from virtshape.apiserver.auth.tokenrequest import answer_token_request
from virtshape.apiserver.auth.tokens import TokenSigner
from virtshape.apiserver.auth.users import Directory, ensure_admin
from virtshape.apiserver.discovery.definitions import list_definitions, write_served_definition
from virtshape.apiserver.discovery.publishing import Publisher
from virtshape.apiserver.handler import Server
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.objectmetadata import encode_tree, metadata_of
from virtshape.apiserver.resource import read_tree
from virtshape.apiserver.source import FIXED_REVISION, FixedSource
from virtshape.apiserver.subresources.dispatch import Actions
from virtshape.apiserver.subresources.objects import EmbeddedObjects
from virtshape.apiserver.subresources.protocol import GuestStreams
from virtshape.apiserver.uploads.receiving import Uploads
from virtshape.apiserver.uploads.sink import UploadSink
from virtshape.apiserver.writing import WriteContext
from virtshape.controllers.manager import Controllers
from virtshape.daemon.filelimit import count_connections, raise_file_limit
from virtshape.daemon.logs import is_access_logged, log_requests
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.daemon.planner import ControllerPlanner
from virtshape.daemon.tuning import tune_process
from virtshape.offline.importpreview import preview_import
from virtshape.standalone.accountsandroles import AccountRoleReconciler, RbacSync
from virtshape.standalone.bootstrap import MANAGER, install_defaults, publish_upload_proxy
from virtshape.standalone.controllers import run_controllers_forever
from virtshape.standalone.guestruntimes import LauncherName, Runtime, open_runtime
from virtshape.standalone.guests.hostdisks import explain_host_disk
from virtshape.standalone.importedimages import ImportedImages
from virtshape.standalone.inprocesstransport import connect
from virtshape.standalone.kubevirtdeployments import ComponentStatus
from virtshape.standalone.metrics import ServerMetrics
from virtshape.standalone.serveraccess import DEFAULT_HOST, DEFAULT_PORT
from virtshape.standalone.storage.layout import Layout
from virtshape.standalone.storage.uploads import UploadDirectory
from virtshape.store.errors import StoreError
from virtshape.store.lock import Lock
from virtshape.store.record import Key
from virtshape.store.store import DEFAULT_WINDOW_REVISIONS, DEFAULT_WINDOW_SECONDS, Store
from virtshape.supervise.checks import Check
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import (
    ACCOUNTS_AND_ROLES,
    CERTIFICATES,
    COMPACTION,
    COMPONENT_STATUS,
    CONTROLLER_MANAGER,
    STORE_PROBE,
)
from virtshape.web.console import Console, format_url
from virtshape.web.sessions import open_sessions
from virtshape.web.signin import Identity

MAX_PAUSE: Final = timedelta(seconds=15)
"""Maximum time between two checks of the certificate, which is unusable after a jump of the clock."""

SESSIONS_FILE: Final = "sessions.json"
"""File in the data directory with the sessions of the web console; backups do not contain this file."""
COMPACTION_SECONDS: Final = 30.0
PROBE_SECONDS: Final = 2.0
IDLE_PROBE_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class Settings(Struct, kw_only=True):
    """Options of the server."""

    directory: Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    catalog: bool = True
    controllers: bool = False
    launcher: LauncherName = "none"
    history_seconds: float = DEFAULT_WINDOW_SECONDS
    history_revisions: int = DEFAULT_WINDOW_REVISIONS
    certificate_lifetime: timedelta = CERTIFICATE_LIFETIME


class Ready(Struct):
    """Address and kubeconfig of a server that is ready, and a one-time link that signs in to its web console."""

    url: str
    kubeconfig: Path
    console_link: str


class ListenError(OSError):
    """The server cannot listen on its address."""


class System(NamedTuple):
    """The components of a running standalone server."""

    store: Store
    directory: Directory
    server: Server
    supervisor: Supervisor
    console: Console
    metrics: ServerMetrics


async def run(settings: Settings, on_ready: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish requests in flight."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    raise_file_limit()
    make_private_directory(settings.directory)
    lock = Lock(settings.directory)
    try:
        async with serve(settings) as ready:
            tune_process()
            on_ready(ready)
            await stopping.wait()
            _log.info("shutting down")
    finally:
        lock.close()


@contextlib.asynccontextmanager
async def serve(settings: Settings, supervisor: Supervisor | None = None) -> AsyncIterator[Ready]:
    """Run the server for the duration of the `async with` block."""
    supervisor = supervisor or Supervisor()
    launcher = settings.launcher if settings.controllers else "none"
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        runtime = await enter(open_runtime(launcher, settings.directory, supervisor))
        upload_sink = _open_upload_sink(settings, runtime)
        system = await enter(assemble(settings, runtime.streams, upload_sink, supervisor=supervisor))
        handle = system.server.handle
        listener = Listener(
            log_requests(handle) if is_access_logged() else handle,
            authenticate=system.server.authenticate,
            max_connections=count_connections(),
        )
        tls = system.directory.pki.build_server_context([settings.host])
        try:
            port = await listener.start(settings.host, settings.port, tls)
        except OSError as error:
            raise ListenError(*error.args) from error
        stack.push_async_callback(listener.stop)
        url = format_url(settings.host, port)
        system.server.set_address(url.removeprefix("https://"))
        authority = system.directory.pki.authority.pem.decode()
        await publish_upload_proxy(connect(system.server, manager=MANAGER), url, authority)
        interval = max(min(COMPACTION_SECONDS, settings.history_seconds), 1.0)
        await enter(supervisor.running(COMPACTION, lambda: system.store.compact_forever(interval)))
        await enter(supervisor.running(STORE_PROBE, lambda: probe_store(system.store)))
        write_admin = partial(ensure_admin, system.directory, url)
        renew = partial(renew_forever, system.directory.pki, tls, [settings.host], write_admin)
        await enter(supervisor.running(CERTIFICATES, renew))
        components = ComponentStatus(connect(system.server, manager=MANAGER), supervisor)
        await enter(supervisor.running(COMPONENT_STATUS, components.run))
        if settings.controllers:
            start = partial(
                run_controllers_forever,
                system.server,
                runtime,
                settings.directory,
                supervisor,
                with_catalog=settings.catalog,
                on_change=partial(_note_controllers, components, system.metrics),
            )
            await enter(supervisor.running(CONTROLLER_MANAGER, start))
        kubeconfig = write_admin()
        admin = Credential(f"Bearer {find_token(kubeconfig.read_text())}")
        yield Ready(url, kubeconfig, await system.console.write_link(url, admin))


def _note_controllers(components: ComponentStatus, metrics: ServerMetrics, controllers: Controllers | None) -> None:
    if controllers is not None:
        components.note_controllers()
    metrics.controllers = controllers


@contextlib.asynccontextmanager
async def assemble(
    settings: Settings,
    streams: GuestStreams | None = None,
    upload_sink: UploadSink | None = None,
    *,
    supervisor: Supervisor | None = None,
) -> AsyncIterator[System]:
    """
    Build all components of the server, but do not listen for requests yet.

    `streams` connects to guests, if there are any; `upload_sink` stores uploads, if there is storage.
    """
    supervisor = supervisor or Supervisor()
    store = Store(
        settings.directory,
        window_seconds=settings.history_seconds,
        window_revisions=settings.history_revisions,
    )
    try:
        await install_defaults(store, with_catalog=settings.catalog)
        directory = Directory(settings.directory, certificate_lifetime=settings.certificate_lifetime)
        authorizer = Authorizer()
        access = RbacSync(store, authorizer)
        reconciler = AccountRoleReconciler(store, authorizer)
        store.observe(access.observe)
        store.observe(reconciler.observe)
        await reconciler.reconcile()
        async with supervisor.running(ACCOUNTS_AND_ROLES, reconciler.run):
            with AuditLog(settings.directory / "audit.log") as audit:
                uploads = Uploads(store, upload_sink, audit)
                yield _build_system(store, directory, access, audit, settings, streams, uploads, supervisor)
    finally:
        await store.close()


def _open_upload_sink(settings: Settings, runtime: Runtime) -> UploadSink | None:
    """Return the directory for uploads, or None if there is no storage."""
    keeps = settings.controllers and runtime.keeps_volumes
    return UploadDirectory(Layout(settings.directory)) if keeps else None


def _build_system(
    store: Store,
    directory: Directory,
    access: RbacSync,
    audit: AuditLog,
    settings: Settings,
    streams: GuestStreams | None,
    uploads: Uploads,
    supervisor: Supervisor,
) -> System:
    signer = TokenSigner(directory.pki.ensure_signing_key())
    authenticator = Authenticator(directory.registry, signer, access.find_uid)
    access.authenticator = authenticator
    state = StoreState(store, lambda path: explain_host_disk(path, settings.directory))
    planner = ControllerPlanner(lambda: connect(server, CONTROLLER_USER), preview_import)
    images = ImportedImages(settings.directory, lambda: connect(server, CONTROLLER_USER))
    chain = Chain(
        BasicAdmission(store),
        RbacAdmission(access.authorizer),
        ClaimAdmission(store),
        KubeVirtAdmission(state, access.authorizer, images.read if uploads.has_storage else None),
        QuotaAdmission(store),
    )
    writes = WriteContext(store, chain)
    metrics = ServerMetrics(store, supervisor, chain.verdicts)
    sessions = open_sessions(settings.directory / SESSIONS_FILE)
    console = Console(partial(_identify, authenticator), audit.record, sessions, uploads=True)
    server = Server(
        writes,
        AuthContext(authenticator, access.authorizer),
        publisher=Publisher(
            f"{settings.host}:{settings.port}",
            lambda: {"store": Check(store.failure), **supervisor.list_checks()},
            scrape=Scraper(metrics.list_families).answer,
        ),
        definitions=_build_definitions(store),
        actions=Actions(EmbeddedObjects(writes, state), planner, streams),
        issue_token=lambda request, namespace, name: answer_token_request(
            request, namespace=namespace, name=name, signer=signer, find_uid=access.find_uid, now=time.time()
        ),
        uploads=uploads,
        audit=audit,
        console=console,
    )
    metrics.server = server
    return System(store, directory, server, supervisor, console, metrics)


async def _identify(authenticator: Authenticator, credential: Credential) -> Identity:
    return Identity(authenticator.authenticate(*credential), authenticator.get_expiry(credential))


def _build_definitions(store: Store) -> FixedSource:
    """Return the CRDs of our kinds, with the creation time of the store."""
    oldest = store.get(Key("namespaces", "", "default"))
    created = metadata_of(read_tree(oldest.value))["creationTimestamp"] if oldest is not None else now()

    def write(name: str) -> bytes:
        tree = write_served_definition(name, created)
        return encode_tree({**tree, "metadata": {**tree["metadata"], "resourceVersion": str(FIXED_REVISION)}})

    return FixedSource(store, "customresourcedefinitions.apiextensions.k8s.io", list_definitions(), write)


async def probe_store(store: Store) -> None:
    """Check that the store can be written, soon after a failure and otherwise while it is idle, until cancelled."""
    while True:
        await asyncio.sleep(PROBE_SECONDS)
        with contextlib.suppress(StoreError):  # the health check reports `store.failure`
            await store.probe(IDLE_PROBE_SECONDS)


async def renew_forever(
    pki: Pki, context: ssl.SSLContext, hosts: Sequence[str], write_admin: Callable[[], object]
) -> None:
    """
    Check the certificate regularly, and replace it before it expires, until cancelled.

    `write_admin` writes the admin's kubeconfig, which contains the CA.
    """
    pause = min(MAX_PAUSE, pki.renew_before / 4).total_seconds()
    while True:
        # The renewal runs on the event loop, because a context must not change while a handshake starts.
        if pki.renew_server_context(context, hosts):
            write_admin()
            _log.info("serving with a renewed certificate")
        await asyncio.sleep(pause)
