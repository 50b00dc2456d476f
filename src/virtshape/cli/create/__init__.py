"""`virtctl create`: print manifests built from flags."""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "vm": Entry("virtshape.cli.create.vm", "Print a VirtualMachine."),
    "instancetype": Entry(
        "virtshape.cli.create.instancetype",
        "Print a VirtualMachineClusterInstancetype or, with --namespaced, a VirtualMachineInstancetype.",
    ),
    "preference": Entry(
        "virtshape.cli.create.preference",
        "Print a VirtualMachineClusterPreference or, with --namespaced, a VirtualMachinePreference.",
    ),
    "clone": Entry(
        "virtshape.cli.unavailable", "Print a VirtualMachineClone.", "create_clone", "Not available (exit status 3)"
    ),
}


@click.group(
    "create",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Print a VM", "virtctl create vm --instancetype u1.medium --preference fedora --volume-pvc src:root"),
        Example("Print an instance type", "virtctl create instancetype --name small --cpu 2 --memory 4Gi"),
    ],
)
def command() -> None:
    """
    Print the manifest of a VM, an instance type or a preference.

    No server is contacted: pipe the output to `kubectl create -f -`, or save it to a file.
    """
