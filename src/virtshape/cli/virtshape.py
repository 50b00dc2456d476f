"""
`virtshape`: what those who run the system type.

Only the table of its commands and the way in.
"""

import click

from virtshape.cli.command import Example
from virtshape.cli.errors import run
from virtshape.cli.group import SETTINGS, Entry, LazyGroup

ENTRIES = {
    "up": Entry("virtshape.cli.up", "Run the API server in this terminal."),
    "down": Entry("virtshape.cli.down", "Stop a running system."),
    "doctor": Entry("virtshape.cli.doctor", "Check whether this machine can run guests."),
    "status": Entry("virtshape.cli.status", "Show whether a system runs, and what it holds."),
    "user": Entry("virtshape.cli.user", "Give people access, and take it back."),
    "image": Entry("virtshape.cli.image", "Add disk images for VMs, show and remove them."),
    "launcher": Entry("virtshape.cli.launcher", "Run one guest, from its order to its end."),
    "backup": Entry("virtshape.cli.backup", "Copy a system, also while it runs."),
    "check": Entry("virtshape.cli.check", "Check that a database is sound."),
    "lint": Entry("virtshape.cli.lint", "Check VMs, instance types and preferences in files."),
    "catalog": Entry("virtshape.cli.catalog", "Show the built-in instance types and preferences."),
    "manifests": Entry("virtshape.cli.manifests", "Print what runs the system on a cluster."),
    "webhook": Entry("virtshape.cli.webhook", "Answer a cluster's API server about VMs that are written."),
    "controller": Entry("virtshape.cli.controller", "Run the controllers of VMs on a cluster."),
    "apiserver": Entry("virtshape.cli.apiserver", "Serve what can be done with VMs, as a part of a cluster's API."),
    "completion": Entry("virtshape.cli.completion", "Print the completion script for a shell."),
    "version": Entry("virtshape.cli.version", "Print the version."),
}


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Run the system in this terminal", "virtshape up"),
        Example("Check the manifests of a folder", "virtshape lint manifests/"),
        Example("See which sizes there are", "virtshape catalog"),
    ],
    context_settings=SETTINGS,
)
def virtshape() -> None:
    """
    Run and check the system that gives virtual machines their shape.

    Exit status: 0 done, 1 refused or failed, 2 command line not understood, 130 interrupted.
    """


def main() -> int:
    """Run the command line of this process."""
    return run(virtshape, "virtshape")
