"""
`virtshape webhook`: admission and conversion for a cluster's API server.

Only flags, and what is said when it is there.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import component_options, find_cluster, run_component, serving_options

if TYPE_CHECKING:
    from virtshape.cluster.component import Ready

_log = logging.getLogger(__name__)


@click.command(
    "webhook",
    cls=Command,
    short_help="Answer a cluster's API server about VMs that are written.",
    examples=[
        Example("Run it as a pod does, with certificates of its own making", "virtshape webhook"),
        Example("Take certificates that cert-manager has mounted", "virtshape webhook --tls-dir /etc/virtshape/tls"),
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
    Answer a cluster's API server: what VMs, instance types and the like become before they are stored, and why not.

    `/admit/mutate` and `/admit/validate` take AdmissionReviews, `/convert` takes ConversionReviews. Any number of them
    may run. Certificates are made here, kept in a Secret and trusted by writing to the webhooks' configurations, unless
    a directory of them is given.

    Exit status: 0 told to stop, 1 cannot run.
    """
    # Imported now, since reading help needs none of it.
    from virtshape.cluster.component import Settings
    from virtshape.cluster.process import Ports
    from virtshape.cluster.tls.sources import CertificateOptions
    from virtshape.cluster.webhook.process import run

    settings = Settings(
        tls=CertificateOptions(namespace=namespace, directory=tls_dir, secret=cert_secret, hosts=host),
        port=port,
        ports=Ports(host=bind, health=health_port, metrics=metrics_port),
    )
    run_component(run(settings, find_cluster(kubeconfig, context), _announce), log_level, log_format)


def _announce(ready: "Ready") -> None:
    words = "webhooks at port %d, health at port %d, figures at port %d"
    _log.info(words, ready.port, ready.health_port, ready.metrics_port)
