"""`virtshape manifests`: print the manifests for a cluster installation."""

from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.component import catalog_option, namespace_option, runtime_option
from virtshape.cli.errors import ArgumentError
from virtshape.cli.output import output_option, print_objects
from virtshape.cluster.manifests.naming import DEFAULT_APISERVER_PORT, DEFAULT_CONSOLE_HOST

if TYPE_CHECKING:
    from virtshape.cluster.manifests.options import RuntimeName, WebhookCert


@click.command(
    "manifests",
    cls=Command,
    short_help="Print the manifests for a cluster installation.",
    examples=[
        Example("Install on a cluster", "virtshape manifests --catalog | kubectl apply -f -"),
        Example(
            "Use a custom image, and certificates from cert-manager",
            "virtshape manifests --image example.com/virtshape:1.0 --webhook-cert cert-manager | kubectl apply -f -",
        ),
        Example(
            "Grant the tools read access on a cluster with KubeVirt",
            "virtshape manifests --with-kubevirt | kubectl apply -f -",
        ),
    ],
)
@namespace_option
@click.option(
    "--image", metavar="IMAGE", help="Image of the components. [default: virtshape, with the tag of this release]"
)
@click.option(
    "--launcher-image",
    metavar="IMAGE",
    help="Image of the launcher pods. [default: the --image name with the suffix -launcher]",
)
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Replicas of each component except the console, which has one.",
)
@catalog_option
@switch("--cdi", default=False, help="Include the CRDs of CDI, for a cluster without CDI.")
@click.option(
    "--webhook-cert",
    type=click.Choice(["self-signed", "cert-manager"]),
    default="self-signed",
    show_default=True,
    help="How certificates are issued and renewed: by the components, or by cert-manager.",
)
@runtime_option
@click.option(
    "--apiserver-port",
    type=click.IntRange(1, 65535),
    default=DEFAULT_APISERVER_PORT,
    show_default=True,
    help="Port of the API server's endpoints, which network policies allow in addition to 443.",
)
@switch("--service-monitor", default=False, help="Include a ServiceMonitor. Requires the Prometheus operator.")
@switch("--console", default=True, help="Include the web console.")
@click.option(
    "--console-host",
    metavar="NAME",
    default=DEFAULT_CONSOLE_HOST,
    show_default=True,
    help="Host name that browsers use for the web console; it is added to the certificate.",
)
@switch(
    "--with-kubevirt",
    default=False,
    help="Print only a service account with read access, for a cluster with KubeVirt.",
)
@output_option
def command(
    namespace: str,
    image: str | None,
    launcher_image: str | None,
    replicas: int,
    catalog: bool,
    cdi: bool,
    webhook_cert: "WebhookCert",
    runtime: "RuntimeName",
    apiserver_port: int,
    service_monitor: bool,
    console: bool,
    console_host: str,
    with_kubevirt: bool,
    output: str,
) -> None:
    """
    Print the manifests for a cluster installation, in the order to apply them.

    The manifests contain the CRDs, service accounts with the required permissions, Deployments of the webhook, the
    controller, the subresource API and the web console, and registrations with the API server. The manifests can be
    applied again at any time.
    """
    # Imported here to keep `--help` fast.
    from virtshape.api.validation.names import check_label_1123, check_subdomain
    from virtshape.cluster.manifests.build import build_manifests
    from virtshape.cluster.manifests.options import DEFAULT_IMAGE, Options

    if problems := check_label_1123(namespace):
        raise ArgumentError(f'invalid namespace "{namespace}"', problems)
    if problems := check_subdomain(console_host):
        raise ArgumentError(f'invalid host name "{console_host}"', problems)
    if image and "@" in image and runtime == "pod" and not (launcher_image or with_kubevirt):
        raise ArgumentError("--image with a digest requires --launcher-image")
    options = Options(
        namespace=namespace,
        image=image or DEFAULT_IMAGE,
        launcher_image=launcher_image or "",
        replicas=replicas,
        catalog=catalog,
        cdi=cdi,
        webhook_cert=webhook_cert,
        runtime=runtime,
        service_monitor=service_monitor,
        console=console,
        console_host=console_host,
        with_kubevirt=with_kubevirt,
        apiserver_port=apiserver_port,
    )
    print_objects(build_manifests(options), output)
