"""
`virtshape apiserver --aggregated`: KubeVirt's subresource API as a part of a cluster's own.

Only flags, and what is said when it is there.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import component_options, find_cluster, run_component, serving_options
from virtshape.cli.errors import NotUnderstood

if TYPE_CHECKING:
    from virtshape.cluster.component import Ready

_log = logging.getLogger(__name__)


@click.command(
    "apiserver",
    cls=Command,
    short_help="Serve what can be done with VMs, as a part of a cluster's API.",
    examples=[
        Example("Run it as a pod does", "virtshape apiserver --aggregated"),
        Example(
            "Run it here, for the cluster of a kubeconfig",
            "virtshape apiserver --aggregated --kubeconfig ~/.kube/config --log-format text",
        ),
    ],
)
@click.option("--aggregated", is_flag=True, help="Serve behind a cluster's own API server; there is no other way yet.")
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
    Serve KubeVirt's subresource API: start, stop, console, expand-spec and the like, so that virtctl works unchanged.

    The cluster's API server passes requests on, says who asks, and is asked whether they may. Any number of these
    processes may run. For a whole API server in one process there is `virtshape up`.

    Exit status: 0 told to stop, 1 cannot run.
    """
    # Imported now, since reading help needs none of it.
    from virtshape.cluster.aggregated.process import run
    from virtshape.cluster.component import Settings
    from virtshape.cluster.process import Ports
    from virtshape.cluster.tls.sources import CertificateOptions

    if not aggregated:
        raise NotUnderstood(
            "this serves only behind a cluster's API server", next_step="Give --aggregated, or run `virtshape up`."
        )
    settings = Settings(
        tls=CertificateOptions(namespace=namespace, directory=tls_dir, secret=cert_secret, hosts=host),
        port=port,
        ports=Ports(host=bind, health=health_port, metrics=metrics_port),
    )
    run_component(run(settings, find_cluster(kubeconfig, context), _announce), log_level, log_format)


def _announce(ready: "Ready") -> None:
    words = "the API at port %d, health at port %d, figures at port %d"
    _log.info(words, ready.port, ready.health_port, ready.metrics_port)
