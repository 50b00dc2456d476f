"""`virtshape webhook`: run the admission and conversion webhooks for a cluster's API server."""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import (
    ComponentOptions,
    ServingOptions,
    component_options,
    serve_component,
    serving_options,
)


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
def command(options: ComponentOptions, serving: ServingOptions) -> None:
    """
    Run the webhook that mutates, validates and converts VMs, instance types and related objects.

    `/admit/mutate` and `/admit/validate` accept AdmissionReviews, `/convert` accepts ConversionReviews. Several
    replicas can run. Unless --tls-dir is given, the webhook creates its certificates, stores them in a Secret and
    writes the CA bundle to the webhook configurations.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.webhook.process import run

    serve_component("webhook", run, options, serving, served="webhooks")
