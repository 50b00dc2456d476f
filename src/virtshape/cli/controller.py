"""
`virtshape controller`: the controllers of VMs as a process on a cluster.

Only flags, and what is said when it is there.
"""

import logging
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.component import component_options, find_cluster, run_component
from virtshape.cli.errors import NotUnderstood

if TYPE_CHECKING:
    from virtshape.cluster.controller import Ready, RuntimeName

_log = logging.getLogger(__name__)


@click.command(
    "controller",
    cls=Command,
    short_help="Run the controllers of VMs on a cluster.",
    examples=[
        Example(
            "Run them as a pod does", "virtshape controller --launcher-image registry.example/virtshape-launcher:1.0"
        ),
        Example(
            "Run them here, for the cluster of a kubeconfig, with nothing that runs guests",
            "virtshape controller --kubeconfig ~/.kube/config --runtime none --log-format text",
        ),
    ],
)
@component_options
@click.option(
    "--runtime",
    type=click.Choice(["pod", "none"]),
    default="pod",
    show_default=True,
    help="What runs guests: a pod each, or nothing.",
)
@click.option("--launcher-image", metavar="IMAGE", default="", help="Image that guests run in; needed to run them.")
@switch("--catalog", default=False, help="Add the common instance types and preferences where they are missing.")
@click.option(
    "--lease-seconds",
    type=click.FloatRange(min=1),
    default=15,
    show_default=True,
    help="How long others wait after the last sign of life of the one at work.",
)
@click.option(
    "--renew-seconds",
    type=click.FloatRange(min=0.5),
    default=10,
    show_default=True,
    help="When the one at work stops, if it cannot show a sign of life.",
)
@click.option(
    "--retry-seconds",
    type=click.FloatRange(min=0.05),
    default=2,
    show_default=True,
    help="How often all of them try.",
)
def command(
    namespace: str,
    kubeconfig: str,
    context: str,
    bind: str,
    health_port: int,
    metrics_port: int,
    log_level: str,
    log_format: Literal["text", "json"],
    runtime: "RuntimeName",
    launcher_image: str,
    catalog: bool,
    lease_seconds: float,
    renew_seconds: float,
    retry_seconds: float,
) -> None:
    """
    Run the controllers: they pin VMs to revisions, make and end their instances, and say how they are doing.

    Several may run; the one that holds the Lease `virtshape-controller` is at work, and hands over when it is told to
    stop. With the runtime `pod` an instance becomes a pod, which the cluster's scheduler places.

    Exit status: 0 told to stop, 1 cannot run.
    """
    # Imported now, since reading help needs none of it.
    from virtshape.cluster.controller import Settings, run
    from virtshape.cluster.process import Ports
    from virtshape.controllers.runtime.leaderelection import LeaderElectionConfig

    if runtime == "pod" and not launcher_image:
        raise NotUnderstood(
            "guests in pods need an image to run in", next_step="Give --launcher-image, or --runtime=none."
        )
    try:
        terms = LeaderElectionConfig(lease_seconds, renew_seconds, retry_seconds)
    except ValueError as error:
        raise NotUnderstood(str(error), next_step="Give --lease-seconds more than --renew-seconds.") from None
    settings = Settings(
        namespace=namespace,
        runtime=runtime,
        launcher_image=launcher_image,
        catalog=catalog,
        ports=Ports(host=bind, health=health_port, metrics=metrics_port),
        terms=terms,
    )
    run_component(run(settings, find_cluster(kubeconfig, context), _announce), log_level, log_format)


def _announce(ready: "Ready") -> None:
    _log.info("health at port %d, figures at port %d", ready.health_port, ready.metrics_port)
