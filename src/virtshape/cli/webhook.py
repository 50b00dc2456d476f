"""`virtshape webhook`: run the admission and conversion webhooks for a cluster's API server."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import component_options, get_cluster, run_component, serving_options

if TYPE_CHECKING:
    from virtshape.cluster.component import Ready

_log = logging.getLogger(__name__)


@click.command(
    "webhook",
    cls=Command,
    short_help="Run the admission and conversion webhook.",
    examples=[
        Example("Run inside a pod, with self-signed certificates", "virtshape webhook"),
        Example("Use certificates mounted by cert-manager", "virtshape webhook --tls-dir /etc/virtshape/tls"),
    ],
)
@component_options
@serving_options("webhook")
def command(
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
    Run the webhook that mutates, validates and converts VMs, instance types and related objects.

    `/admit/mutate` and `/admit/validate` accept AdmissionReviews, `/convert` accepts ConversionReviews. Several
    replicas can run. Unless --tls-dir is given, the webhook creates its certificates, stores them in a Secret and
    writes the CA bundle to the webhook configurations.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.component import Ports, Settings
    from virtshape.cluster.tls.sources import CertificateOptions
    from virtshape.cluster.webhook.process import run

    settings = Settings(
        tls=CertificateOptions(namespace=namespace, directory=tls_dir, secret=cert_secret, hosts=host),
        port=port,
        ports=Ports(host=bind, health=health_port, metrics=metrics_port),
    )
    run_component(run(settings, get_cluster(kubeconfig, context), _log_ready), log_level, log_format)


def _log_ready(ready: "Ready") -> None:
    message = "serving webhooks on port %d, health on port %d, metrics on port %d"
    _log.info(message, ready.port, ready.health_port, ready.metrics_port)
