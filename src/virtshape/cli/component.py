"""
Flags and start-up of the cluster components: webhook, controller, apiserver and console-server.

`virtshape manifests` and `virtshape uninstall` share some of these flags.
"""

import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from virtshape.cli.command import LogFormat, collect, log_options, switch
from virtshape.cli.errors import CommandError
from virtshape.cluster.manifests.naming import (
    DEFAULT_NAMESPACE,
    HEALTH_PORT,
    HTTPS_PORT,
    METRICS_PORT,
    Component,
    name_secret,
)

if TYPE_CHECKING:
    from virtshape.client.access import Access
    from virtshape.cluster.component import Ports, Ready, Settings

F = TypeVar("F", bound=Callable[..., Any])

PORT = click.IntRange(0, 65535)
SHUTDOWN_DELAY = 5.0
"""Time for the nodes to notice that a pod is being deleted, and to stop sending requests to it."""
MAX_SHUTDOWN_DELAY = 15
"""Maximum shutdown delay; the pods' grace period is long enough for this delay and for requests in progress."""

_log = logging.getLogger(__name__)


class ComponentOptions(NamedTuple):
    """Values of the flags that all components have."""

    namespace: str
    kubeconfig: str
    context: str
    bind: str
    health_port: int
    metrics_port: int
    log_level: str
    log_format: LogFormat

    @property
    def ports(self) -> "Ports":
        """The address and ports of the health and metrics endpoints."""
        from virtshape.cluster.component import Ports

        return Ports(host=self.bind, health=self.health_port, metrics=self.metrics_port)


class ServingOptions(NamedTuple):
    """Values of the flags of a component that serves HTTPS."""

    port: int
    cert_secret: str
    tls_dir: Path | None
    host: tuple[str, ...]
    shutdown_delay: float


namespace_option = click.option(
    "--namespace", metavar="NAME", default=DEFAULT_NAMESPACE, show_default=True, help="Namespace of the components."
)
runtime_option = click.option(
    "--runtime",
    type=click.Choice(["pod", "none"]),
    default="pod",
    show_default=True,
    help="How guests run: each in a pod, or not at all.",
)
catalog_option = switch(
    "--catalog", default=False, help="Create missing instance types and preferences of the built-in catalog."
)


def cluster_options(function: F) -> F:
    """Add the flags that select a cluster to a command."""
    function = click.option("--context", metavar="NAME", default="", help="Kubeconfig context to use.")(function)
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        default="",
        type=click.Path(dir_okay=False),
        help="Path to the kubeconfig. [default: the pod's service account, $KUBECONFIG or ~/.kube/config]",
    )(function)


def component_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a component to a command, which receives them as `options`."""
    for option in reversed(
        (
            click.option(
                "--namespace",
                metavar="NAME",
                default=DEFAULT_NAMESPACE,
                show_default=True,
                help="Namespace of the installation.",
            ),
            cluster_options,
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
            log_options("json"),
        )
    ):
        function = option(function)
    return collect(function, "options", ComponentOptions)


def serving_options(component: Component) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the flags of a component that serves HTTPS to a command, which receives them as `serving`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
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
                default=name_secret(component),
                show_default=True,
                help="Secret for the self-signed certificates.",
            ),
            click.option(
                "--shutdown-delay",
                metavar="SECONDS",
                type=click.FloatRange(min=0, max=MAX_SHUTDOWN_DELAY),
                default=0.0 if component == "console" else SHUTDOWN_DELAY,  # the console has only one replica
                show_default=True,
                help="Keep serving for this time after SIGTERM, while clients move to other replicas.",
            ),
            click.option("--port", type=PORT, default=HTTPS_PORT, show_default=True, help="Port to serve HTTPS on."),
        ):
            function = option(function)
        return collect(function, "serving", ServingOptions)

    return decorate


def get_cluster(kubeconfig: str, context: str) -> "Access":
    """Return the Access for the cluster that the flags select; raise CommandError if they select none."""
    from virtshape.client.errors import ConfigError
    from virtshape.client.kubeconfig import get_access

    try:
        return get_access(path=kubeconfig, context=context)
    except ConfigError as error:
        raise CommandError(str(error), next_step="Run it in a pod, or select a cluster with --kubeconfig.") from error


def serve_component(
    component: Component,
    run: "Callable[[Settings, Access, Callable[[Ready], None]], Coroutine[Any, Any, None]]",
    options: ComponentOptions,
    serving: ServingOptions,
    *,
    served: str,
) -> None:
    """Run a component that serves HTTPS until a signal stops it; `served` is its description in the log."""
    from virtshape.cluster.component import Settings
    from virtshape.cluster.tls.sources import CertificateOptions

    certificates = CertificateOptions(
        namespace=options.namespace, directory=serving.tls_dir, secret=serving.cert_secret, hosts=serving.host
    )
    settings = Settings(tls=certificates, port=serving.port, ports=options.ports, shutdown_delay=serving.shutdown_delay)

    def log_ready(ready: "Ready") -> None:
        message = f"serving {served} on port %d, health on port %d, metrics on port %d"
        _log.info(message, ready.port, ready.health_port, ready.metrics_port)

    access = get_cluster(options.kubeconfig, options.context)
    run_component(component, run(settings, access, log_ready), options.log_level, options.log_format)


def run_component(
    component: Component, work: "Coroutine[Any, Any, None]", log_level: str, log_format: LogFormat
) -> None:
    """Run a component until a signal stops it; raise CommandError if it cannot start."""
    import uvloop

    from virtshape.cluster.component import run_until_signalled
    from virtshape.daemon.logs import set_up_logs

    set_up_logs(log_level, log_format, component)
    try:
        uvloop.run(run_until_signalled(work))
    except OSError as error:
        raise CommandError(
            f"cannot run: {error}", next_step="Check that the ports are free, or choose other ports."
        ) from error
