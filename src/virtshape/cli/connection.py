"""
The server that a command asks: `--kubeconfig`, `--context`, `-n` and what overrides them, as kubectl has them.

Where nothing else names a server, it is the `virtshape up` of this user. The flags may stand before the command too.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from virtshape.cli.datadir import default_directory
from virtshape.cli.errors import Refusal, warn
from virtshape.cli.overriding import FLAGS, declare_overrides, read_overrides
from virtshape.cli.period import read_seconds

if TYPE_CHECKING:
    from virtshape.client.access import Access
    from virtshape.client.http import HttpTransport
    from virtshape.client.requestlog import Exchange, Tell
    from virtshape.client.rest import RestClient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_META = "virtshape.connection"
_NAME_A_SERVER = "Run `virtshape up` in another terminal, or name a server with --kubeconfig or $KUBECONFIG."
_CHECK_SERVER = "Check that the server runs and can be reached from here, or choose another with --context."
_CHECK_CONFIG = "Correct the kubeconfig, or choose another with --kubeconfig, $KUBECONFIG or --context."
_CHECK_OWN = "See `virtshape status`, and run it with `virtshape up`."


class NoServer(Refusal):
    """Nothing names a server, and this user runs none."""


class Target(NamedTuple):
    """Which server and namespace the flags name; what is empty is found as kubectl finds it."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    overrides: Mapping[str, Any] = MappingProxyType({})
    """What is said in place of a kubeconfig's words and of how it is asked, by the names of the flags."""

    @property
    def seconds(self) -> float | None:
        """How long an answer may take; None for as long as it likes."""
        from virtshape.client.http import CALL_SECONDS

        said = self.overrides.get("request_timeout")
        return CALL_SECONDS if said is None else read_seconds(said)

    @property
    def verbosity(self) -> int:
        """How much is told of requests, as kubectl counts it."""
        return int(self.overrides.get("verbosity", 0))


class Session(NamedTuple):
    """A server to talk to, and the namespace that is meant."""

    access: "Access"
    namespace: str
    transport: "HttpTransport"
    client: "RestClient"
    tell: "Tell | None" = None
    """Told of requests that are made beside these two."""


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    # Contexts share this, so that a flag before the command counts until one behind it says otherwise.
    if value is not None and value != ():
        ctx.meta.setdefault(_META, {})[param.name] = value


def current_target(ctx: click.Context) -> Target:
    """What the flags given so far say."""
    said = ctx.meta.get(_META, {})
    stated = {name: value for name, value in said.items() if name not in FLAGS}
    return Target(**stated, overrides={name: value for name, value in said.items() if name in FLAGS})


def stated_namespace() -> str | None:
    """The namespace that a flag before the command names, for commands with a flag of that name of their own."""
    return current_target(click.get_current_context()).namespace or None


def complete_entry(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the contexts, clusters or users of the kubeconfig that begin so."""
    from virtshape.client.errors import ConfigError
    from virtshape.client.kubeconfig import list_paths, load_config

    path = current_target(ctx).kubeconfig
    try:
        config = load_config([Path(path)] if path else list_paths(os.environ))
    except ConfigError:
        return []
    known: dict[str, Any] = getattr(config, f"{param.name}s")
    return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]


def complete_namespace(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Offer the namespaces that begin so."""
    from virtshape.api.core.namespace import Namespace

    return complete_names(current_target(ctx)._replace(namespace=""), Namespace, incomplete, everywhere=True)


def complete_vm(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Offer the VMs that begin so."""
    from virtshape.api.kubevirt.machine import VirtualMachine

    return complete_names(current_target(ctx), VirtualMachine, incomplete)


def complete_vmi(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Offer the instances that begin so."""
    from virtshape.api.kubevirt.instance import VirtualMachineInstance

    return complete_names(current_target(ctx), VirtualMachineInstance, incomplete)


def complete_names(target: Target, kind: Any, incomplete: str, *, everywhere: bool = False) -> list[CompletionItem]:
    """Offer the names of objects that begin so; none where no server answers."""
    from virtshape.api.status import StatusError

    async def find(session: Session) -> list[str]:
        listing = await session.client.list(kind, "" if everywhere else session.namespace)
        return [item.metadata.name or "" for item in listing.items if item.metadata]

    try:
        names = run_session(target, find, call_seconds=2.0)
    except (Refusal, StatusError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def declare_flags(function: F, *, without: Collection[str] = (), hide_overrides: bool = True) -> F:
    """Declare the flags of a connection, for `current_target` to read; some may be left out that mean another thing."""
    completers = dict.fromkeys(("cluster", "user"), complete_entry)
    function = declare_overrides(function, _remember, completers, without=without, hidden=hide_overrides)
    for option in (
        click.option(
            "-n",
            "--namespace",
            metavar="NAMESPACE",
            expose_value=False,
            callback=_remember,
            shell_complete=complete_namespace,
            help="Namespace that is meant, in place of the context's.",
        ),
        click.option(
            "--context",
            metavar="NAME",
            expose_value=False,
            callback=_remember,
            shell_complete=complete_entry,
            help="Context of the kubeconfig, in place of its current one.",
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            expose_value=False,
            callback=_remember,
            help="Kubeconfig, in place of $KUBECONFIG and ~/.kube/config.",
        ),
    ):
        function = option(function)
    return function


def connection_options(function: Callable[..., Any], *, without: Collection[str] = ()) -> Callable[..., Any]:
    """Give a command the flags of a connection, but for those that it has itself; it is called with `target`."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, target=current_target(click.get_current_context()), **kwargs)

    return declare_flags(call, without=without)


def run_session(
    target: Target, work: Callable[[Session], Awaitable[T]], *, call_seconds: float | None = None, instead: str = ""
) -> T:
    """Do work at the server that is meant; Refusal if there is none or it does not answer, with what to do instead."""
    # Imported now, since reading help needs no connection.
    import asyncio

    from virtshape.client.errors import ConfigError, UnreachableError

    access, is_own = find_server(target)
    seconds = call_seconds or target.seconds

    async def run() -> T:
        async with open_session(access, target.namespace, seconds, target.verbosity) as session:
            return await work(session)

    try:
        return asyncio.run(run())
    except ConfigError as error:
        raise Refusal(str(error), next_step=_CHECK_CONFIG) from error
    except UnreachableError as error:
        step = _CHECK_OWN if is_own else _CHECK_SERVER
        raise Refusal(str(error), next_step=f"{step} {instead}".rstrip()) from error


@asynccontextmanager
async def open_session(
    access: "Access", namespace: str, seconds: float | None, verbosity: int
) -> AsyncIterator[Session]:
    """Talk to a server; what it warns of is told to the user, and what is asked of it if that is wished for."""
    from virtshape.client.http import CONNECT_SECONDS, HttpTransport
    from virtshape.client.requestlog import HEADS, describe_exchange
    from virtshape.client.rest import RestClient

    def tell(exchange: "Exchange") -> None:
        for line in describe_exchange(exchange, verbosity):
            click.echo(line, err=True)

    told = tell if verbosity >= HEADS else None
    patience = CONNECT_SECONDS if seconds is None else min(seconds, CONNECT_SECONDS)
    transport = HttpTransport(access, call_seconds=seconds, connect_seconds=patience, tell=told)
    client = RestClient(transport, manager="virtctl", warn=warn)
    try:
        yield Session(access, namespace or access.namespace, transport, client, told)
    finally:
        await client.close()


def find_server(target: Target) -> tuple["Access", bool]:
    """The server that is meant, and whether it is this user's own `virtshape up`."""
    from msgspec.structs import replace

    from virtshape.client.errors import ConfigError
    from virtshape.client.overrides import override_access
    from virtshape.client.tunnel import find_proxy

    try:
        access, is_own = _find_stated(target)
        access = override_access(access, read_overrides(target.overrides))
        return replace(access, proxy=access.proxy or find_proxy(access.server, os.environ)), is_own
    except ConfigError as error:
        raise Refusal(str(error), next_step=_CHECK_CONFIG) from error


def _find_stated(target: Target) -> tuple["Access", bool]:
    from virtshape.client.access import Access
    from virtshape.client.kubeconfig import Config, find_account, list_paths, load_config

    config = Config() if target.kubeconfig else load_config(list_paths(os.environ))
    if target.kubeconfig or config.contexts or config.clusters or find_account(os.environ) is not None:
        return _choose(target.kubeconfig, target), False
    if "server" in target.overrides:
        return Access(""), False
    stated = os.environ.get("KUBECONFIG")
    if stated:
        raise Refusal(f"$KUBECONFIG names {stated}, and no server stands there", next_step=_CHECK_CONFIG)
    return find_own_system(target), True


def _choose(kubeconfig: str, target: Target) -> "Access":
    from virtshape.client.kubeconfig import find_access

    cluster, user = (target.overrides.get(name, "") for name in ("cluster", "user"))
    return find_access(path=kubeconfig, context=target.context, cluster=cluster, user=user)


def find_own_system(target: Target) -> "Access":
    """The system that this user runs, as its admin unless the flags name another user; NoServer if none runs."""
    from virtshape.client.errors import ConfigError
    from virtshape.store.lock import find_holder

    directory = Path(os.environ.get("VIRTSHAPE_DATA_DIR") or default_directory()).absolute()
    kubeconfig = directory / "kubeconfig"
    if find_holder(directory) is None or not kubeconfig.exists():
        causes = ["there is neither $KUBECONFIG nor ~/.kube/config", f"no system runs in {directory}"]
        raise NoServer("no server is known", causes, _NAME_A_SERVER)
    try:
        return _choose(str(kubeconfig), target)
    except ConfigError as error:
        raise Refusal(str(error), next_step=_CHECK_CONFIG) from error
