"""`virtshape controller`: run the VM controllers on a cluster."""

import logging
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import (
    ComponentOptions,
    catalog_option,
    component_options,
    get_cluster,
    run_component,
    runtime_option,
)
from virtshape.cli.errors import ArgumentError

if TYPE_CHECKING:
    from virtshape.cluster.controller import Ready, RuntimeName

_log = logging.getLogger(__name__)


@click.command(
    "controller",
    cls=Command,
    short_help="Run the VM controllers on a cluster.",
    examples=[
        Example("Run inside a pod", "virtshape controller --launcher-image registry.example/virtshape-launcher:1.0"),
        Example(
            "Run locally against the cluster in a kubeconfig, without running guests",
            "virtshape controller --kubeconfig ~/.kube/config --runtime none --log-format text",
        ),
    ],
)
@component_options
@runtime_option
@click.option(
    "--launcher-image", metavar="IMAGE", default="", help="Image of the launcher pods. Required with --runtime pod."
)
@catalog_option
@click.option(
    "--lease-seconds",
    type=click.FloatRange(min=1),
    default=15,
    show_default=True,
    help="Time after the last renewal before another replica may take the lease.",
)
@click.option(
    "--renew-seconds",
    type=click.FloatRange(min=0.5),
    default=10,
    show_default=True,
    help="Give up leadership if the lease cannot be renewed within this time.",
)
@click.option(
    "--retry-seconds",
    type=click.FloatRange(min=0.05),
    default=2,
    show_default=True,
    help="Interval between attempts to acquire or renew the lease.",
)
def command(
    options: ComponentOptions,
    runtime: "RuntimeName",
    launcher_image: str,
    catalog: bool,
    lease_seconds: float,
    renew_seconds: float,
    retry_seconds: float,
) -> None:
    """
    Run the VM controllers: pin VMs to instance type revisions, create and delete instances, and update VM status.

    Several replicas can run. The replica that holds the Lease `virtshape-controller` is active, and releases the Lease
    when it stops. With `--runtime pod` each instance runs in a pod, which the cluster's scheduler places.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.controller import Settings, run
    from virtshape.controllers.runtime.leaderelection import LeaderElectionConfig

    if runtime == "pod" and not launcher_image:
        raise ArgumentError(
            "--runtime pod requires --launcher-image", next_step="Add --launcher-image, or use --runtime none."
        )
    try:
        terms = LeaderElectionConfig(lease_seconds, renew_seconds, retry_seconds)
    except ValueError as error:
        remedy = "Set --lease-seconds above --renew-seconds, and --renew-seconds above 1.2 times --retry-seconds."
        raise ArgumentError(str(error), next_step=remedy) from None
    settings = Settings(
        namespace=options.namespace,
        runtime=runtime,
        launcher_image=launcher_image,
        catalog=catalog,
        ports=options.ports,
        terms=terms,
    )
    access = get_cluster(options.kubeconfig, options.context)
    run_component("controller", run(settings, access, _log_ready), options.log_level, options.log_format)


def _log_ready(ready: "Ready") -> None:
    _log.info("serving health on port %d, metrics on port %d", ready.health_port, ready.metrics_port)
