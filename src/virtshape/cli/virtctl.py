"""
`virtctl`: what users of VMs type, with KubeVirt's names and flags.

Only the table of its commands and the way in.
"""

import click

from virtshape.cli.command import Example
from virtshape.cli.connection import declare_flags
from virtshape.cli.errors import run
from virtshape.cli.group import SETTINGS, Entry, LazyGroup

ENTRIES = {
    "start": Entry("virtshape.cli.start", "Start a VM."),
    "stop": Entry("virtshape.cli.stop", "Stop a VM."),
    "restart": Entry("virtshape.cli.restart", "Restart a VM."),
    "pause": Entry("virtshape.cli.guest.pause", "Hold a guest where it is."),
    "unpause": Entry("virtshape.cli.guest.unpause", "Let a paused guest go on."),
    "soft-reboot": Entry("virtshape.cli.guest.softreboot", "Ask a guest to reboot."),
    "reset": Entry("virtshape.cli.guest.reset", "Reset a guest without asking it."),
    "console": Entry("virtshape.cli.guest.console", "Connect to the serial console of a guest."),
    "vnc": Entry("virtshape.cli.guest.vnc", "Show the screen of a guest."),
    "port-forward": Entry("virtshape.cli.guest.portforward", "Forward local ports to a guest."),
    "ssh": Entry("virtshape.cli.guest.ssh", "Log in to a guest with ssh."),
    "scp": Entry("virtshape.cli.guest.scp", "Copy files to or from a guest."),
    "guestosinfo": Entry("virtshape.cli.guest.guestosinfo", "Show what a guest says of itself."),
    "userlist": Entry("virtshape.cli.guest.userlist", "Show who is logged in to a guest."),
    "fslist": Entry("virtshape.cli.guest.fslist", "Show the file systems of a guest."),
    "image-upload": Entry("virtshape.cli.upload.imageupload", "Upload a disk image to a claim or DataVolume."),
    "create": Entry("virtshape.cli.create", "Print a manifest for a VM, an instance type or a preference."),
    "expand": Entry("virtshape.cli.expand", "Show a VM with its instance type and preference applied."),
    "customize": Entry("virtshape.cli.customize", "Make a new instance type or preference from an existing one."),
    "recommend": Entry("virtshape.cli.recommend", "Find the smallest instance type for a need."),
    "drift": Entry("virtshape.cli.drift", "Show which VMs hold older copies of their instance type or preference."),
    "upgrade": Entry("virtshape.cli.upgrade", "Have VMs use their instance type and preference as they are now."),
    "completion": Entry("virtshape.cli.completion", "Print the completion script for a shell."),
    "options": Entry("virtshape.cli.options", "List the flags that every command takes."),
    "version": Entry("virtshape.cli.serverversion", "Print the versions of virtctl and of the server."),
}


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example(
            "A VM on standard output", "virtctl create vm --name web --instancetype u1.medium --volume-pvc src:root"
        ),
        Example("What it becomes with its instance type applied", "virtctl expand -f vm.yaml"),
    ],
    context_settings=SETTINGS,
)
@declare_flags
def virtctl() -> None:
    """
    Work with virtual machines, their instance types and their preferences.

    `virtctl` and the kubectl plugin `kubectl virt` are one command by two names. `virtctl options` lists the flags that
    every command takes.

    Exit status: 0 done, 1 refused or failed, 2 command line not understood, 130 interrupted.
    """


def main() -> int:
    """Run the command line of this process."""
    return run(virtctl, "virtctl")
