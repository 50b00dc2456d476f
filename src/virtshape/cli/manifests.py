"""
`virtshape manifests`: everything that a cluster needs to run the system, ready for `kubectl apply -f -`.

Never asks a server and reads no file.
"""

from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.errors import NotUnderstood
from virtshape.cli.output import output_option, print_objects

if TYPE_CHECKING:
    from virtshape.cluster.manifests.options import RuntimeName, WebhookCert


@click.command(
    "manifests",
    cls=Command,
    short_help="Print what runs the system on a cluster.",
    examples=[
        Example("Install on a cluster", "virtshape manifests --catalog | kubectl apply -f -"),
        Example(
            "Take an image of your own, and certificates from cert-manager",
            "virtshape manifests --image example.com/virtshape:1.0 --webhook-cert cert-manager | kubectl apply -f -",
        ),
        Example(
            "Give our tools read access beside KubeVirt", "virtshape manifests --with-kubevirt | kubectl apply -f -"
        ),
    ],
)
@click.option(
    "--namespace", metavar="NAME", default="virtshape-system", show_default=True, help="Namespace of the components."
)
@click.option(
    "--image", metavar="IMAGE", help="Image of the components. [default: virtshape, with the tag of this release]"
)
@click.option(
    "--launcher-image",
    metavar="IMAGE",
    help="Image that guests run in. [default: the components' image with -launcher after its name]",
)
@click.option("--replicas", type=click.IntRange(min=1), default=2, show_default=True, help="Pods of each component.")
@switch("--catalog", default=False, help="Have the common instance types and preferences added where they are missing.")
@switch("--cdi", default=False, help="Bring the kinds of CDI too, for a cluster that has no CDI.")
@click.option(
    "--webhook-cert",
    type=click.Choice(["self-signed", "cert-manager"]),
    default="self-signed",
    show_default=True,
    help="Who makes and renews the certificates: the components themselves, or cert-manager.",
)
@click.option(
    "--runtime",
    type=click.Choice(["pod", "none"]),
    default="pod",
    show_default=True,
    help="What runs guests: a pod each, or nothing.",
)
@switch("--service-monitor", default=False, help="Tell a Prometheus operator of the metrics; needs its kinds.")
@switch(
    "--with-kubevirt",
    default=False,
    help="Leave out all that KubeVirt brings: only an account that lets our tools read.",
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
    Print everything that a cluster needs to run the system, in the order to apply it in.

    The kinds and their schemas, accounts with the rights they need and no more, the webhook, the controllers and the
    API of subresources as Deployments, and what has the API server ask them. It can be applied again at any time.
    """
    # Imported now, since reading help needs no API.
    from virtshape.apiserver.validation.names import check_label_1123
    from virtshape.cluster.manifests.build import build_manifests
    from virtshape.cluster.manifests.options import DEFAULT_IMAGE, Options

    if problems := check_label_1123(namespace):
        raise NotUnderstood(f'"{namespace}" is no name of a namespace', problems)
    if image and "@" in image and runtime == "pod" and not (launcher_image or with_kubevirt):
        raise NotUnderstood("an image named by its digest tells nothing of the launcher's: give --launcher-image too")
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
