"""Flags and start-up shared by the cluster components: webhook, controller and apiserver."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from virtshape.cli.errors import CommandError
from virtshape.cli.up import LEVELS
from virtshape.cluster.manifests.naming import DEFAULT_NAMESPACE, HEALTH_PORT, HTTPS_PORT, METRICS_PORT

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from virtshape.client.access import Access

F = TypeVar("F", bound=Callable[..., Any])

PORT = click.IntRange(0, 65535)


def component_options(function: F) -> F:
    """Add the flags of a component to a command."""
    for option in reversed(
        (
            click.option(
                "--namespace",
                metavar="NAME",
                default=DEFAULT_NAMESPACE,
                show_default=True,
                help="Namespace of the installation.",
            ),
            click.option(
                "--kubeconfig",
                metavar="FILE",
                default="",
                type=click.Path(dir_okay=False),
                help="Path to the kubeconfig. [default: the pod's service account, $KUBECONFIG or ~/.kube/config]",
            ),
            click.option("--context", metavar="NAME", default="", help="Kubeconfig context to use."),
            click.option(
                "--bind", metavar="ADDRESS", default="", help="Address to listen on. [default: all addresses]"
            ),
            click.option(
                "--health-port",
                type=PORT,
                default=HEALTH_PORT,
                show_default=True,
                help="Port for the probes /livez and /readyz; 0 chooses a free port.",
            ),
            click.option(
                "--metrics-port",
                type=PORT,
                default=METRICS_PORT,
                show_default=True,
                help="Port for /metrics; 0 chooses a free port.",
            ),
            click.option(
                "--log-level",
                type=click.Choice(LEVELS),
                default="info",
                show_default=True,
                help="Minimum log level.",
            ),
            click.option(
                "--log-format",
                type=click.Choice(["text", "json"]),
                default="json",
                show_default=True,
                help="Log format.",
            ),
        )
    ):
        function = option(function)
    return function


def serving_options(component: str) -> Callable[[F], F]:
    """Add the flags of a component that serves HTTPS to a command."""

    def decorate(function: F) -> F:
        for option in (
            click.option(
                "--host",
                metavar="NAME",
                multiple=True,
                help="Additional host name for self-signed certificates. Can be repeated.",
            ),
            click.option(
                "--tls-dir",
                metavar="DIR",
                type=click.Path(file_okay=False, path_type=Path),
                help="Directory with tls.crt and tls.key, renewed externally, for example by cert-manager.",
            ),
            click.option(
                "--cert-secret",
                metavar="NAME",
                default=f"virtshape-{component}-tls",
                show_default=True,
                help="Secret for the self-signed certificates.",
            ),
            click.option("--port", type=PORT, default=HTTPS_PORT, show_default=True, help="Port to serve HTTPS on."),
        ):
            function = option(function)
        return function

    return decorate


def get_cluster(kubeconfig: str, context: str) -> "Access":
    """Return the Access for the cluster that the flags select; raise CommandError if they select none."""
    from virtshape.client.errors import ConfigError
    from virtshape.client.kubeconfig import get_access

    try:
        return get_access(path=kubeconfig, context=context)
    except ConfigError as error:
        raise CommandError(str(error), next_step="Run it in a pod, or select a cluster with --kubeconfig.") from error


def run_component(work: "Awaitable[None]", log_level: str, log_format: Literal["text", "json"]) -> None:
    """Run a component until a signal stops it; raise CommandError if it cannot start."""
    import uvloop

    from virtshape.cluster.component import run_until_signalled
    from virtshape.daemon.logs import set_up_logs

    set_up_logs(log_level, log_format)
    try:
        uvloop.run(run_until_signalled(work))
    except OSError as error:
        raise CommandError(
            f"cannot run: {error}", next_step="Check that the ports are free, or choose others."
        ) from error
