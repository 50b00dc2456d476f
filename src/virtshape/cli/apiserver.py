"""`virtshape apiserver --aggregated`: serve KubeVirt's subresource API as an aggregated API of a cluster."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import component_options, get_cluster, run_component, serving_options
from virtshape.cli.errors import ArgumentError

if TYPE_CHECKING:
    from virtshape.cluster.component import Ready

_log = logging.getLogger(__name__)


@click.command(
    "apiserver",
    cls=Command,
    short_help="Serve the subresource API on a cluster.",
    examples=[
        Example("Run inside a pod", "virtshape apiserver --aggregated"),
        Example(
            "Run locally against the cluster in a kubeconfig",
            "virtshape apiserver --aggregated --kubeconfig ~/.kube/config --log-format text",
        ),
    ],
)
@click.option("--aggregated", is_flag=True, help="Serve behind the cluster's API server. Required.")
@component_options
@serving_options("apiserver")
def command(
    aggregated: bool,
    namespace: str,
    kubeconfig: str,
    context: str,
    bind: str,
    health_port: int,
    metrics_port: int,
    log_level: str,
    log_format: Literal["text", "json"],
    port: int,
    cert_secret: str,
    tls_dir: Path | None,
    host: tuple[str, ...],
) -> None:
    """
    Serve KubeVirt's subresource API: start, stop, console, expand-spec and so on, so that virtctl works unchanged.

    The cluster's API server forwards requests with the user's identity, and authorizes them. Several replicas can run.
    Use `virtshape up` for a complete API server in one process.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.aggregated.process import run
    from virtshape.cluster.component import Ports, Settings
    from virtshape.cluster.tls.sources import CertificateOptions

    if not aggregated:
        raise ArgumentError(
            "--aggregated is required", next_step="Add --aggregated, or run `virtshape up` for a standalone API server."
        )
    settings = Settings(
        tls=CertificateOptions(namespace=namespace, directory=tls_dir, secret=cert_secret, hosts=host),
        port=port,
        ports=Ports(host=bind, health=health_port, metrics=metrics_port),
    )
    run_component(run(settings, get_cluster(kubeconfig, context), _log_ready), log_level, log_format)


def _log_ready(ready: "Ready") -> None:
    message = "serving the API on port %d, health on port %d, metrics on port %d"
    _log.info(message, ready.port, ready.health_port, ready.metrics_port)
