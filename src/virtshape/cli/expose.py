"""`virtctl expose`: create a Service for the ports of a VM, an instance or a replica set of instances."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import Command, Example, Integer, OneOf
from virtshape.cli.connection import Session, Target, complete_vm, complete_vmi, connection_options, run_session
from virtshape.cli.errors import ArgumentError, CommandError, suggest
from virtshape.cli.guest.instance import KINDS as GUEST_KINDS
from virtshape.cli.guest.instance import explain_instance_error
from virtshape.cli.vm import dry_run_option, explain_vm_error

if TYPE_CHECKING:
    from virtshape.api.core.service import Service, ServicePort, ServiceSpec
    from virtshape.api.model import JsonObject
    from virtshape.api.status import StatusError

_REPLICA_SET: Final = "virtualmachineinstancereplicaset"
KINDS: Final = {
    **GUEST_KINDS,
    **dict.fromkeys(("vmirs", "vmirss", _REPLICA_SET, f"{_REPLICA_SET}s"), "vmirs"),
}
"""The accepted spellings of the kinds."""
RESOURCES: Final = {"vm": "virtualmachines", "vmi": "virtualmachineinstances", "vmirs": f"{_REPLICA_SET}s"}
FAMILIES: Final = ("IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4")
POLICIES: Final = ("SingleStack", "PreferDualStack", "RequireDualStack")


class ServiceFlags(NamedTuple):
    """The flags that describe the Service."""

    name: str
    port: int | None = None
    port_name: str | None = None
    target_port: str | None = None
    protocol: str = "TCP"
    type: str = "ClusterIP"
    cluster_ip: str | None = None
    external_ip: str | None = None
    ip_family: str | None = None
    ip_family_policy: str | None = None


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the kind."""
    return [CompletionItem(word) for word in RESOURCES if word.startswith(incomplete)]


def complete_exposed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a VM or an instance."""
    match KINDS.get(str(ctx.params.get("kind", "")).lower()):
        case "vm":
            return complete_vm(ctx, param, incomplete)
        case "vmi":
            return complete_vmi(ctx, param, incomplete)
        case _:
            return []


@click.command(
    "expose",
    cls=Command,
    short_help="Create a Service for a VM.",
    examples=[
        Example("Expose SSH of a VM on every node", "virtctl expose vm web --name web-ssh --port 22 --type NodePort"),
        Example("Expose port 8080 of a VM as port 80", "virtctl expose vm web --name web --port 80 --target-port 8080"),
        Example(
            "Expose all ports that the VM's interface on the pod network lists", "virtctl expose vm web --name web"
        ),
        Example(
            "Print the Service without creating it", "virtctl expose vm web --name web --port 80 --dry-run -o yaml"
        ),
    ],
)
@click.argument("kind", metavar="vm|vmi|vmirs", shell_complete=complete_kind)
@click.argument("exposed", metavar="NAME", shell_complete=complete_exposed)
@click.option("--name", required=True, help="Name of the Service.")
@click.option("--port", type=Integer(1, 65535), help="Port of the Service. [default: the ports of the interface]")
@click.option("--port-name", help="Name of the port.")
@click.option("--target-port", help="Number or name of the guest's port. [default: the same as --port]")
@click.option("--protocol", type=OneOf("TCP", "UDP"), default="TCP", show_default=True, help="Protocol of the port.")
@click.option(
    "--type",
    "service_type",
    type=OneOf("ClusterIP", "NodePort", "LoadBalancer"),
    default="ClusterIP",
    show_default=True,
    help="Type of the Service.",
)
@click.option("--cluster-ip", help="Cluster IP of the Service, or None for a headless Service. [default: allocated]")
@click.option("--external-ip", help="Additional IP address on which nodes accept traffic for the Service.")
@click.option("--ip-family", type=OneOf(*FAMILIES), help="IP families of the Service.")
@click.option(
    "--ip-family-policy",
    type=OneOf(*POLICIES),
    help="IP family policy of the Service. [default: PreferDualStack if --ip-family has two families]",
)
@dry_run_option
@click.option(
    "-o", "--output", type=click.Choice(["name", "yaml", "json"]), help="Print the Service instead of a message."
)
@connection_options
def command(
    *, kind: str, exposed: str, service_type: str, dry_run: bool, output: str | None, target: Target, **flags: Any
) -> None:
    """
    Create a Service that sends traffic to the guest of a VM, of an instance or of all instances of a replica set.

    The Service selects the launcher pods of the guest. Without --port, the Service has the ports of the interface on
    the pod network. The Service remains when the VM is deleted.

    On a cluster, Kubernetes routes the traffic. The server of `virtshape up` stores the Service, but routes nothing:
    use `virtctl port-forward`, or the ports that the instance's condition PortsOpen lists.
    """
    found_kind = parse_kind(kind)
    wanted = ServiceFlags(type=service_type, **flags)

    async def expose(session: Session) -> "Service":
        tree = await fetch(session, found_kind, exposed)
        service = build_service(session.namespace, found_kind, tree, wanted)
        return await session.client.create(service, dry_run=dry_run)

    service = run_session(target, expose)
    if output in ("yaml", "json"):
        from virtshape.cli.output import print_object

        print_object(service, output)
    elif output == "name":
        click.echo(f"service/{wanted.name}")
    else:
        suffix = " (dry run)" if dry_run else ""
        click.echo(f"Service {wanted.name} successfully created for {kind.lower()} {exposed}{suffix}")


def parse_kind(text: str) -> str:
    """Return `vm`, `vmi` or `vmirs` for any spelling that kubectl accepts."""
    kind = KINDS.get(text.lower())
    if kind is None:
        message = f"unsupported resource type: {text}; must be vm, vmi or vmirs{suggest(text.lower(), KINDS)}"
        raise ArgumentError(message, next_step="For example: vm web")
    return kind


async def fetch(session: Session, kind: str, name: str) -> "JsonObject":
    """Return the object to expose, as a JSON tree: on a KubeVirt cluster it may have fields that our structs lack."""
    from urllib.parse import quote

    import msgspec

    from virtshape.api.status import StatusError

    namespace, resource = (quote(part, safe="") for part in (session.namespace, RESOURCES[kind]))
    path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/{resource}/{quote(name, safe='')}"
    try:
        reply = await session.client.request("GET", path)
    except StatusError as error:
        raise await _explain_error(session, kind, name, error) from error
    tree: JsonObject = msgspec.json.decode(reply.body)
    return tree


async def _explain_error(session: Session, kind: str, name: str, error: "StatusError") -> Exception:
    match kind:
        case "vm":
            return await explain_vm_error(session, name, "expose", error)
        case "vmi":
            return await explain_instance_error(session, name, error)
        case _ if error.code == 404 and f'"{name}"' not in error.message:
            message = "the server has no replica sets of instances"
            return CommandError(message, next_step="Expose each VM: virtctl expose vm NAME")
        case _:
            return error


def build_service(namespace: str, kind: str, tree: "JsonObject", flags: ServiceFlags) -> "Service":
    """Return the Service for an object of this kind; raise CommandError if it has no ports or no selector."""
    from virtshape.api.core.service import Service
    from virtshape.api.meta import ObjectMeta

    return Service(
        api_version="v1",
        kind="Service",
        metadata=ObjectMeta(name=flags.name, namespace=namespace),
        spec=_build_spec(get_selector(kind, tree), get_ports(kind, tree, flags), flags),
    )


def _build_spec(selector: dict[str, str], ports: "list[ServicePort]", flags: ServiceFlags) -> "ServiceSpec":
    from virtshape.api.core.service import ServiceSpec

    families = flags.ip_family.split(",") if flags.ip_family else []
    return ServiceSpec(
        type=flags.type,
        ports=ports,
        selector=selector,
        cluster_ip=flags.cluster_ip or None,
        external_ips=[flags.external_ip] if flags.external_ip else None,
        ip_families=families or None,
        ip_family_policy=flags.ip_family_policy or ("PreferDualStack" if len(families) > 1 else None),
    )


def get_selector(kind: str, tree: "JsonObject") -> dict[str, str]:
    """Return the labels that select the launcher pods of the object; KubeVirt uses the same labels."""
    from virtshape.api.launcherpod import format_vmi_id
    from virtshape.api.wellknown import VMI_ID_LABEL

    if kind != "vmirs":
        return {VMI_ID_LABEL: format_vmi_id(tree["metadata"]["name"])}
    selector = tree["spec"].get("selector") or {}
    labels: dict[str, str] = selector.get("matchLabels") or {}
    if not labels:
        raise CommandError("cannot expose VirtualMachineInstanceReplicaSet without any selector labels")
    if selector.get("matchExpressions"):
        raise CommandError("cannot expose VirtualMachineInstanceReplicaSet with match expressions")
    return labels


def get_ports(kind: str, tree: "JsonObject", flags: ServiceFlags) -> "list[ServicePort]":
    """Return the port that the flags specify, or all ports of the interface on the pod network."""
    from virtshape.api.core.service import ServicePort

    if flags.port is not None:
        number = flags.target_port
        return [
            ServicePort(
                port=flags.port,
                name=flags.port_name or None,
                protocol=flags.protocol,
                target_port=int(number) if number and number.isdecimal() else number or None,
            )
        ]
    spec = tree["spec"] if kind == "vmi" else (tree["spec"].get("template") or {}).get("spec") or {}
    network = next((each["name"] for each in spec.get("networks") or () if "pod" in each), None)
    interfaces = ((spec.get("domain") or {}).get("devices") or {}).get("interfaces") or ()
    listed = next((each.get("ports") or () for each in interfaces if each["name"] == network), ())
    if not listed:
        step = "Use --port, or list ports in the interface of the VM."
        raise CommandError("couldn't find port via --port flag or introspection", next_step=step)
    return [
        ServicePort(port=each["port"], name=f"port-{number}", protocol=each.get("protocol"))
        for number, each in enumerate(listed, 1)
    ]
