"""
What the commands of our processes on a cluster have in common: how to reach it, where to be asked, what to log.

Only flags, and how what keeps a process from running is told.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from virtshape.cli.errors import Refusal
from virtshape.cli.up import LEVELS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from virtshape.client.access import Access

F = TypeVar("F", bound=Callable[..., Any])

PORT = click.IntRange(0, 65535)


def component_options(function: F) -> F:
    """Give a command the flags of a component."""
    for option in reversed(
        (
            click.option(
                "--namespace",
                metavar="NAME",
                default="virtshape-system",
                show_default=True,
                help="Namespace of the installation.",
            ),
            click.option(
                "--kubeconfig",
                metavar="FILE",
                default="",
                type=click.Path(dir_okay=False),
                help="Kubeconfig of the cluster. [default: the pod's own account, $KUBECONFIG or ~/.kube/config]",
            ),
            click.option("--context", metavar="NAME", default="", help="Context of the kubeconfig."),
            click.option(
                "--bind", metavar="ADDRESS", default="", help="Address to be asked at. [default: all addresses]"
            ),
            click.option(
                "--health-port",
                type=PORT,
                default=8081,
                show_default=True,
                help="Port for probes: /livez and /readyz; 0 lets the system choose one.",
            ),
            click.option(
                "--metrics-port",
                type=PORT,
                default=8080,
                show_default=True,
                help="Port for figures: /metrics; 0 lets the system choose one.",
            ),
            click.option(
                "--log-level",
                type=click.Choice(LEVELS),
                default="info",
                show_default=True,
                help="What is worth a line.",
            ),
            click.option(
                "--log-format",
                type=click.Choice(["text", "json"]),
                default="json",
                show_default=True,
                help="How lines look.",
            ),
        )
    ):
        function = option(function)
    return function


def serving_options(component: str) -> Callable[[F], F]:
    """Give a command the flags of a component that serves HTTPS."""

    def decorate(function: F) -> F:
        for option in (
            click.option(
                "--host",
                metavar="NAME",
                multiple=True,
                help="A further name that it is called by, for certificates that it makes; may be repeated.",
            ),
            click.option(
                "--tls-dir",
                metavar="DIR",
                type=click.Path(file_okay=False, path_type=Path),
                help="Directory with tls.crt and tls.key that somebody else renews, such as cert-manager.",
            ),
            click.option(
                "--cert-secret",
                metavar="NAME",
                default=f"virtshape-{component}-tls",
                show_default=True,
                help="Secret to keep certificates in that the component makes and renews itself.",
            ),
            click.option("--port", type=PORT, default=8443, show_default=True, help="Port to serve HTTPS at."),
        ):
            function = option(function)
        return function

    return decorate


def find_cluster(kubeconfig: str, context: str) -> "Access":
    """The cluster that the flags name; a refusal if there is none."""
    from virtshape.client.errors import ConfigError
    from virtshape.client.kubeconfig import find_access

    try:
        return find_access(path=kubeconfig, context=context)
    except ConfigError as error:
        raise Refusal(str(error), next_step="Run it in a pod, or name a cluster with --kubeconfig.") from error


def run_component(work: "Awaitable[None]", log_level: str, log_format: Literal["text", "json"]) -> None:
    """Run a process until it is told to stop; what keeps it from running becomes a refusal."""
    import uvloop

    from virtshape.cluster.process import run_until_signalled
    from virtshape.daemon.logs import set_up_logs

    set_up_logs(log_level, log_format)
    try:
        uvloop.run(run_until_signalled(work))
    except OSError as error:
        raise Refusal(f"cannot run: {error}", next_step="Choose other ports, or see who has these.") from error
