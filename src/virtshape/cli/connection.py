"""
The connection flags of virtctl (`--kubeconfig`, `--context`, `-n` and overrides) and sessions with the server.

Without a kubeconfig, commands use the server that the user runs with `virtshape up`. The flags may also precede the
command.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from virtshape.cli.errors import CommandError, warn
from virtshape.cli.overrides import FLAGS, build_overrides, declare_overrides
from virtshape.cli.paramtypes import parse_seconds

if TYPE_CHECKING:
    from virtshape.client.access import Access
    from virtshape.client.http import HttpTransport
    from virtshape.client.requestlog import Exchange, RequestLogger
    from virtshape.client.rest import RestClient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_META = "virtshape.connection"
_CHECK_SERVER = "Check that the server is running and reachable, or choose another with --context."
_CHECK_CONFIG = "Correct the kubeconfig, or choose another with --kubeconfig, $KUBECONFIG or --context."
_CHECK_OWN = "Check `virtshape status`, and start the server with `virtshape up`."


class Target(NamedTuple):
    """The server and namespace that the flags select; empty fields are resolved as kubectl resolves them."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    overrides: Mapping[str, Any] = MappingProxyType({})
    """Flags that override the kubeconfig or control requests, by name."""

    @property
    def seconds(self) -> float | None:
        """The request timeout in seconds; None for no timeout."""
        from virtshape.client.http import CALL_SECONDS

        said = self.overrides.get("request_timeout")
        return CALL_SECONDS if said is None else parse_seconds(said)

    @property
    def verbosity(self) -> int:
        """The log level of requests, as in kubectl's -v."""
        return int(self.overrides.get("verbosity", 0))


class Session(NamedTuple):
    """A client for a server, and the current namespace."""

    access: "Access"
    namespace: str
    transport: "HttpTransport"
    client: "RestClient"
    log_request: "RequestLogger | None" = None
    """Logs requests that are made without the client, such as uploads."""


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    # All click contexts share `meta`: a flag after the command overrides the same flag before it.
    if value is not None and value != ():
        ctx.meta.setdefault(_META, {})[param.name] = value


def current_target(ctx: click.Context) -> Target:
    """Return the target that the flags parsed so far select."""
    said = ctx.meta.get(_META, {})
    stated = {name: value for name, value in said.items() if name not in FLAGS}
    return Target(**stated, overrides={name: value for name, value in said.items() if name in FLAGS})


def global_namespace() -> str | None:
    """Return the namespace given before the command, for commands with their own --namespace."""
    return current_target(click.get_current_context()).namespace or None


def complete_entry(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the contexts, clusters or users in the kubeconfig."""
    return complete_config_names(current_target(ctx).kubeconfig, f"{param.name}s", incomplete)


def complete_config_names(path: str, entries: str, incomplete: str) -> list[CompletionItem]:
    """Complete the names of `contexts`, `clusters` or `users` in a kubeconfig; an empty path means the default one."""
    # Imported here to keep `--help` fast.
    from pathlib import Path

    from virtshape.client.errors import ConfigError
    from virtshape.client.kubeconfig import list_paths, load_config

    try:
        config = load_config([Path(path)] if path else list_paths(os.environ))
    except ConfigError:
        return []
    known: dict[str, Any] = getattr(config, entries)
    return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]


def complete_namespace(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete namespaces."""
    from virtshape.api.core.namespace import Namespace

    return complete_names(current_target(ctx)._replace(namespace=""), Namespace, incomplete, everywhere=True)


def complete_vm(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete VM names."""
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine

    return complete_names(current_target(ctx), VirtualMachine, incomplete)


def complete_vmi(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the names of VirtualMachineInstances."""
    from virtshape.api.kubevirt.instance import VirtualMachineInstance

    return complete_names(current_target(ctx), VirtualMachineInstance, incomplete)


def complete_names(target: Target, kind: Any, incomplete: str, *, everywhere: bool = False) -> list[CompletionItem]:
    """Complete object names; return an empty list if no server answers."""
    from virtshape.api.status import StatusError

    async def find(session: Session) -> list[str]:
        listing = await session.client.list(kind, "" if everywhere else session.namespace)
        return [item.metadata.name or "" for item in listing.items]

    try:
        names = run_session(target, find, call_seconds=2.0)
    except (CommandError, StatusError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def declare_flags(function: F, *, without: Collection[str] = (), hide_overrides: bool = True) -> F:
    """Declare the connection flags that `current_target` reads, except those in `without`."""
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
            help="Namespace, instead of the context's.",
        ),
        click.option(
            "--context",
            metavar="NAME",
            expose_value=False,
            callback=_remember,
            shell_complete=complete_entry,
            help="Kubeconfig context, instead of the current one.",
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            expose_value=False,
            callback=_remember,
            help="Path to the kubeconfig, instead of $KUBECONFIG or ~/.kube/config.",
        ),
    ):
        function = option(function)
    return function


def connection_options(function: Callable[..., Any], *, without: Collection[str] = ()) -> Callable[..., Any]:
    """Add the connection flags to a command, which receives them as `target`."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, target=current_target(click.get_current_context()), **kwargs)

    return declare_flags(call, without=without)


def run_session(
    target: Target, work: Callable[[Session], Awaitable[T]], *, call_seconds: float | None = None, instead: str = ""
) -> T:
    """Run `work` in a session and return its result; raise CommandError with a next step if no server answers."""
    # Imported here to keep `--help` fast.
    import asyncio

    from virtshape.client.errors import ConfigError, UnreachableError

    access, is_own = get_server(target)
    seconds = call_seconds or target.seconds

    async def run() -> T:
        async with open_session(access, target.namespace, seconds, target.verbosity) as session:
            return await work(session)

    try:
        return asyncio.run(run())
    except ConfigError as error:
        raise CommandError(str(error), next_step=_CHECK_CONFIG) from error
    except UnreachableError as error:
        step = _CHECK_OWN if is_own else _CHECK_SERVER
        raise CommandError(str(error), next_step=f"{step} {instead}".rstrip()) from error


@asynccontextmanager
async def open_session(
    access: "Access", namespace: str, seconds: float | None, verbosity: int
) -> AsyncIterator[Session]:
    """Open a session that prints the server's warnings and, if the verbosity is high enough, logs requests."""
    from virtshape.client.http import CONNECT_SECONDS, HttpTransport
    from virtshape.client.requestlog import LOG_REQUESTS, describe_exchange
    from virtshape.client.rest import RestClient

    def log_request(exchange: "Exchange") -> None:
        for line in describe_exchange(exchange, verbosity):
            click.echo(line, err=True)

    logger = log_request if verbosity >= LOG_REQUESTS else None
    connect_seconds = CONNECT_SECONDS if seconds is None else min(seconds, CONNECT_SECONDS)
    transport = HttpTransport(access, call_seconds=seconds, connect_seconds=connect_seconds, log_request=logger)
    client = RestClient(transport, manager="virtctl", warn=warn)
    try:
        yield Session(access, namespace or access.namespace, transport, client, logger)
    finally:
        await client.close()


def get_server(target: Target) -> tuple["Access", bool]:
    """Return the Access for the server, and whether it is the user's own `virtshape up`."""
    from msgspec.structs import replace

    from virtshape.client.errors import ConfigError
    from virtshape.client.overrides import override_access
    from virtshape.client.tunnel import find_proxy

    try:
        access, is_own = _get_configured(target)
        access = override_access(access, build_overrides(target.overrides))
        return replace(access, proxy=access.proxy or find_proxy(access.server, os.environ)), is_own
    except ConfigError as error:
        raise CommandError(str(error), next_step=_CHECK_CONFIG) from error


def _get_configured(target: Target) -> tuple["Access", bool]:
    from virtshape.cli.localserver import find_local_kubeconfig
    from virtshape.client.access import Access
    from virtshape.client.kubeconfig import Config, find_account, list_paths, load_config

    config = Config() if target.kubeconfig else load_config(list_paths(os.environ))
    if target.kubeconfig or config.contexts or config.clusters or find_account(os.environ) is not None:
        return _choose(target.kubeconfig, target), False
    if "server" in target.overrides:
        return Access(""), False
    stated = os.environ.get("KUBECONFIG")
    if stated:
        raise CommandError(f"$KUBECONFIG is {stated}, which defines no server", next_step=_CHECK_CONFIG)
    return _choose(str(find_local_kubeconfig()), target), True


def _choose(kubeconfig: str, target: Target) -> "Access":
    from virtshape.client.kubeconfig import get_access

    cluster, user = (target.overrides.get(name, "") for name in ("cluster", "user"))
    return get_access(path=kubeconfig, context=target.context, cluster=cluster, user=user)
