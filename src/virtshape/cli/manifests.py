"""`virtshape manifests`: print the manifests for a cluster installation."""

from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.errors import ArgumentError
from virtshape.cli.output import output_option, print_objects
from virtshape.cluster.manifests.naming import DEFAULT_NAMESPACE

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
@click.option(
    "--namespace", metavar="NAME", default=DEFAULT_NAMESPACE, show_default=True, help="Namespace of the components."
)
@click.option(
    "--image", metavar="IMAGE", help="Image of the components. [default: virtshape, with the tag of this release]"
)
@click.option(
    "--launcher-image",
    metavar="IMAGE",
    help="Image of the launcher pods. [default: the --image name with the suffix -launcher]",
)
@click.option(
    "--replicas", type=click.IntRange(min=1), default=2, show_default=True, help="Replicas of each component."
)
@switch("--catalog", default=False, help="Create missing instance types and preferences of the built-in catalog.")
@switch("--cdi", default=False, help="Include the CRDs of CDI, for a cluster without CDI.")
@click.option(
    "--webhook-cert",
    type=click.Choice(["self-signed", "cert-manager"]),
    default="self-signed",
    show_default=True,
    help="How certificates are issued and renewed: by the components, or by cert-manager.",
)
@click.option(
    "--runtime",
    type=click.Choice(["pod", "none"]),
    default="pod",
    show_default=True,
    help="How guests run: each in a pod, or not at all.",
)
@switch("--service-monitor", default=False, help="Include ServiceMonitors. Requires the Prometheus operator.")
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
    service_monitor: bool,
    with_kubevirt: bool,
    output: str,
) -> None:
    """
    Print the manifests for a cluster installation, in the order to apply them.

    They contain the CRDs, service accounts with the required permissions, Deployments of the webhook, the controller
    and the subresource API, and their registrations with the API server. They can be applied again at any time.
    """
    # Imported here to keep `--help` fast.
    from virtshape.api.validation.names import check_label_1123
    from virtshape.cluster.manifests.build import build_manifests
    from virtshape.cluster.manifests.options import DEFAULT_IMAGE, Options

    if problems := check_label_1123(namespace):
        raise ArgumentError(f'invalid namespace "{namespace}"', problems)
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
        with_kubevirt=with_kubevirt,
    )
    print_objects(build_manifests(options), output)
