"""
Commands of KubeVirt's virtctl that virtshape does not support.

Each command prints what it would need and what to do instead, and exits with status 3, regardless of its arguments.
"""

from typing import Final

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.errors import UNAVAILABLE, CommandError

_KUBEVIRT: Final = "On a cluster that runs KubeVirt, use KubeVirt's own virtctl."


class UnavailableError(CommandError):
    """The command is not available in virtshape."""

    exit_code = UNAVAILABLE


def declare(name: str, purpose: str, *, needs: str, instead: Example) -> Command:
    """Return a command that always fails, with a message that says what it needs and what to do instead."""

    def refuse(arguments: tuple[str, ...]) -> None:
        del arguments
        message = f"virtctl {name} is not available: it needs {needs}"
        raise UnavailableError(message, next_step=f"{instead.purpose}: {instead.line}\n{_KUBEVIRT}")

    return Command(
        name.split()[-1],
        callback=refuse,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        short_help=f"Not available: {purpose}.",
        help=f"Not available. In KubeVirt: {purpose}.\n\nIt needs {needs}. {_KUBEVIRT}\n\nExit status: 3.",
        options_metavar="",
        hidden=True,  # shells do not complete hidden commands
        examples=[instead, Example("List the commands that are available", "virtctl --help")],
    )


migrate = declare(
    "migrate",
    "live-migrate a VM to another node",
    needs="live migration between two nodes with shared storage",
    instead=Example("Restart the VM; on a cluster it may start on another node", "virtctl restart web"),
)
migrate_cancel = declare(
    "migrate-cancel",
    "cancel a live migration",
    needs="live migration between two nodes with shared storage",
    instead=Example("Show the instance and its conditions", "kubectl describe vmi web"),
)
evacuate_cancel = declare(
    "evacuate-cancel",
    "cancel the evacuation of a VM from its node",
    needs="live migration between two nodes with shared storage",
    instead=Example("Allow a node to run VMs again", "kubectl uncordon node-1"),
)
vmexport = declare(
    "vmexport",
    "download the volumes of a VM",
    needs="the API group export.kubevirt.io and its export server",
    instead=Example("Clone the claim with a DataVolume", "kubectl apply -f datavolume.yaml"),
)
memory_dump = declare(
    "memory-dump",
    "write the memory of a guest to a PVC",
    needs="the subresource memorydump of VMs",
    instead=Example("Show what the guest wrote to its console", "virtctl console web --log"),
)
guestfs = declare(
    "guestfs",
    "open a shell with the libguestfs tools and access to a PVC",
    needs="a pod with KubeVirt's libguestfs image",
    instead=Example(
        "Attach the claim to another VM and mount it there",
        "virtctl create vm --volume-pvc src:root --volume-pvc src:damaged",
    ),
)
template = declare(
    "template",
    "process, create and convert VirtualMachineTemplates",
    needs="the API group template.kubevirt.io",
    instead=Example(
        "Print a VM from an instance type and a preference",
        "virtctl create vm --instancetype u1.medium --preference fedora",
    ),
)
create_clone = declare(
    "create clone",
    "print a VirtualMachineClone, which copies a VM",
    needs="the API group clone.kubevirt.io",
    instead=Example(
        "Print a VM whose disk is a copy of a claim", "virtctl create vm --volume-import type:pvc,src:default/root"
    ),
)
objectgraph = declare(
    "objectgraph",
    "show the objects that a VM depends on",
    needs="the subresource objectgraph of VMs",
    instead=Example("Show the VM and the source of each field", "virtctl expand --vm web --explain"),
)
usbredir = declare(
    "usbredir",
    "redirect a USB device of this machine to a guest",
    needs="the subresource usbredir of instances, and guests with USB redirection channels",
    instead=Example("List the host devices that VMs may use", "virtctl permitted-devices"),
)
