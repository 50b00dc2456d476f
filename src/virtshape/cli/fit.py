"""`virtctl fit`: show how many more VMs with an instance type fit on the nodes, and why no further VM fits."""

from collections.abc import Sequence
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from virtshape.admission.compatibility import check_compatibility
from virtshape.admission.recommend import Offer
from virtshape.api.core.node import Node
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.cli.candidates import INSTANCETYPES, PREFERENCES, Candidates
from virtshape.cli.command import Command, Example, Integer, output_choice
from virtshape.cli.connection import (
    Session,
    Target,
    complete_names,
    complete_vm,
    connection_options,
    current_target,
    run_session,
)
from virtshape.cli.create.parameters import split_name
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_kinds, parse_kind
from virtshape.cli.errors import FAILURE, CommandError, suggest
from virtshape.cli.expand import find_configuration
from virtshape.cli.output import print_object, print_table
from virtshape.cli.recommend import complete_preference
from virtshape.cli.resolvedvm import read_vm
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.controllers.fit import Nodes, measure_capacity, read_nodes
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.controllers.vmi.nodefit import explain_unschedulable
from virtshape.engine.capacity import Capacity, build_empty_vm
from virtshape.engine.expand import Shape
from virtshape.engine.machinetype import default_architecture
from virtshape.offline.sources import get_source
from virtshape.resolve.find import instancetype_spec

MAX_NODES = 3
"""Number of nodes whose reasons are shown for each instance type."""


class NamedCapacity(NamedTuple):
    """How many more VMs of an instance type, or VMs like an existing one, fit on the nodes."""

    kind: str
    name: str
    capacity: Capacity


def complete_instancetype(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of cluster-wide instance types."""
    return complete_kinds(ctx, INSTANCETYPES[:1], incomplete)


def complete_node(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of nodes."""
    return complete_names(current_target(ctx), Node, incomplete, everywhere=True)


@click.command(
    "fit",
    cls=Command,
    short_help="Show how many more VMs of an instance type fit.",
    examples=[
        Example("Show how many VMs of each instance type fit", "virtctl fit"),
        Example("Show the nodes for one instance type", "virtctl fit u1.medium"),
        Example("Take a preference into account", "virtctl fit u1.2xmedium --preference windows.11"),
        Example("Show how many more VMs like an existing one fit", "virtctl fit --vm web"),
        Example("Fail a pipeline if fewer than ten fit", "virtctl fit u1.medium --at-least 10"),
    ],
)
@click.argument("name", metavar="[[KIND/]NAME]", required=False, shell_complete=complete_instancetype)
@click.option("--vm", metavar="NAME", shell_complete=complete_vm, help="Use the size of a VM on the server.")
@click.option(
    "--preference",
    metavar="NAME",
    shell_complete=complete_preference,
    help="Cluster-wide preference of the VMs.",
)
@click.option("--node", metavar="NAME", shell_complete=complete_node, help="Consider only this node.")
@click.option(
    "--at-least", metavar="NUMBER", type=Integer(1, 2**31 - 1), help="Exit with 1 if fewer than this number of VMs fit."
)
@output_choice("table", "json", "yaml", help="Output format.")
@connection_options
def command(
    *,
    name: str | None,
    vm: str | None,
    preference: str | None,
    node: str | None,
    at_least: int | None,
    output: str,
    target: Target,
) -> None:
    """
    Show how many more VMs of an instance type fit on the server's nodes, and why no further VM fits.

    Without NAME, all instance types with a size are listed. NAME is a cluster-wide instance type unless KIND is given.

    On `virtshape up`, the scheduler considers CPU (one core for ten vCPUs unless configured otherwise), memory,
    hugepages, dedicated CPUs, devices, node selectors and taints. On a cluster, the requests of all pods are counted,
    and each VM counts as a launcher pod with its overhead. Quotas are not considered, nor are topology spread and
    affinity between pods.

    Requires permission to list nodes, and pods in all namespaces; on `virtshape up`, also instances in all namespaces.
    """
    kinds = validate_flags(name, vm, preference, at_least)
    plain_name = split_name(name)[1] if name else ""

    async def read(session: Session) -> list[NamedCapacity]:
        configuration = await find_configuration(session)
        nodes = await choose_nodes(session, configuration, node)
        if vm is not None:
            resolved = await read_vm(session, vm)
            capacity = measure_capacity(resolved.spec, nodes, configuration)
            return [NamedCapacity("VirtualMachine", resolved.name, capacity)]
        wanted = INSTANCETYPES + PREFERENCES if preference is not None else INSTANCETYPES
        candidates = Candidates(PLACE, await ServerObjects(session).list_sources(wanted), with_catalog=False)
        preferred = candidates.find_preference(preference, PREFERENCES[0]) if preference is not None else None
        offers = [get_offer(candidates, plain_name, kinds)] if plain_name else candidates.list_offers()
        return list_capacities(offers, preferred, nodes, configuration, is_named=bool(plain_name))

    capacities = run_session(target, read)
    print_capacities(capacities, output, is_list=name is None and vm is None)
    if at_least is not None and capacities[0].capacity.fits < at_least:
        click.get_current_context().exit(FAILURE)


def validate_flags(name: str | None, vm: str | None, preference: str | None, at_least: int | None) -> Sequence[str]:
    """Return the kinds that NAME may have; raise ArgumentError if the flags are invalid."""
    problems, kinds = Problems(), INSTANCETYPES[:1]
    if name is not None and vm is not None:
        problems.lines.append("NAME and --vm are mutually exclusive")
    if vm is not None and preference is not None:
        problems.lines.append("--preference and --vm are mutually exclusive: the VM names its preference")
    if at_least is not None and name is None and vm is None:
        problems.lines.append("--at-least requires NAME or --vm")
    with problems.collect("NAME"):
        kind = split_name(name)[0] if name else ""
        if kind:
            kinds = (parse_kind(kind),)
            if kinds[0] not in INSTANCETYPES:
                problems.lines.append(f"NAME: {kinds[0]} is not an instance type")
    problems.raise_all()
    return kinds


async def choose_nodes(session: Session, configuration: KubeVirtConfiguration | None, only: str | None) -> Nodes:
    """Read the nodes that run instances, or only one of them; raise CommandError if there is none."""
    result = await read_nodes(session.client, configuration)
    if not result.nodes:
        raise CommandError(explain_unschedulable({}), next_step="Check the nodes: kubectl get nodes")
    if only is None:
        return result
    names = [node.metadata.name or "" for node in result.nodes]
    if only not in names:
        raise CommandError(f'node "{only}" not found{suggest(only, names)}', next_step="List them: kubectl get nodes")
    return result._replace(nodes=[node for node in result.nodes if node.metadata.name == only])


def get_offer(candidates: Candidates, name: str, kinds: Sequence[str]) -> Offer:
    """Return an instance type from the server; raise StatusError if it does not exist."""
    found = get_source(name, kinds, candidates.entries, with_catalog=False, elsewhere=PLACE)
    spec = instancetype_spec(found.object)
    assert spec is not None  # noqa: S101 - the kinds are instance types
    return Offer(found.object.kind, name, spec)


def list_capacities(
    offers: Sequence[Offer],
    preference: VirtualMachinePreferenceSpec | None,
    nodes: Nodes,
    configuration: KubeVirtConfiguration | None,
    *,
    is_named: bool,
) -> list[NamedCapacity]:
    """
    Return the capacity for each instance type that has a size and is compatible with the preference.

    If the user named the instance type (`is_named`), raise CommandError instead of skipping it.
    """
    architecture = default_architecture(configuration)
    capacities = []
    for offer in offers:
        conflicts = check_compatibility(offer.spec, preference, architecture) if preference is not None else []
        is_sized = offer.vcpus and offer.memory.amount > 0
        if is_named and not is_sized:
            message = f"{offer.name} leaves its size to the VM"
            raise CommandError(
                message, next_step="Use --vm with a VM that sets its size, or choose another instance type."
            )
        if is_named and conflicts:
            causes = [conflict.message for conflict in conflicts]
            raise CommandError(f"{offer.name} cannot be used with this preference", causes)
        if is_sized and not conflicts:
            shape = Shape(offer.spec, preference)
            _, spec = make_instance(build_empty_vm(), shape, configuration, architecture, firmware_uuid="")
            capacities.append(NamedCapacity(offer.kind, offer.name, measure_capacity(spec, nodes, configuration)))
    return capacities


def print_capacities(capacities: Sequence[NamedCapacity], output: str, *, is_list: bool) -> None:
    """Print a row for each instance type of a list, or for each node if `is_list` is False."""
    if output != "table":
        trees = [describe_capacity(capacity) for capacity in capacities]
        print_object(trees if is_list else trees[0], output)
    elif is_list:
        rows = [[name, one.vcpus, one.memory, one.fits, kind, summarize(one)] for kind, name, one in capacities]
        print_table(["NAME", "VCPU", "MEMORY", "FITS", "KIND", "NEXT ONE BLOCKED BY"], rows)
    else:
        ((_, _, capacity),) = capacities
        counts: list[list[object]] = [[one.node, one.fits, ", ".join(one.reasons)] for one in capacity.nodes]
        if len(counts) > 1:
            counts.append(["TOTAL", capacity.fits, ""])
        print_table(["NODE", "FITS", "NEXT ONE BLOCKED BY"], counts)


def summarize(capacity: Capacity) -> str:
    """Return the reasons why the next instance does not fit on the first nodes, and the number of other nodes."""
    texts = [f"{one.node} {', '.join(one.reasons)}" for one in capacity.nodes[:MAX_NODES]]
    others = len(capacity.nodes) - MAX_NODES
    return "; ".join(texts) + (f"; {others} more nodes" if others > 0 else "")


def describe_capacity(named: NamedCapacity) -> JsonObject:
    """Return the capacity as a JSON object."""
    kind, name, capacity = named
    return {
        "kind": kind,
        "name": name,
        "vcpus": capacity.vcpus,
        "memory": capacity.memory,
        "fits": capacity.fits,
        "nodes": [{"node": one.node, "fits": one.fits, "blockedBy": one.reasons} for one in capacity.nodes],
    }
