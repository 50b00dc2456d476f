"""`virtctl`: the command for users of VMs, with KubeVirt's names and flags."""

import click

from virtshape.cli.command import Example
from virtshape.cli.connection import declare_flags
from virtshape.cli.errors import run
from virtshape.cli.group import SETTINGS, Entry, LazyGroup

UNAVAILABLE = "KubeVirt's commands that are not available (each prints what it needs; exit status 3)"


def _unavailable(purpose: str, attribute: str) -> Entry:
    return Entry("virtshape.cli.unavailable", purpose, attribute, UNAVAILABLE)


ENTRIES = {
    "start": Entry("virtshape.cli.guest.lifecycle", "Start a VM.", "start"),
    "stop": Entry("virtshape.cli.guest.lifecycle", "Stop a VM.", "stop"),
    "restart": Entry("virtshape.cli.guest.lifecycle", "Restart a VM.", "restart"),
    "pause": Entry("virtshape.cli.guest.lifecycle", "Pause a VM.", "pause"),
    "unpause": Entry("virtshape.cli.guest.lifecycle", "Resume a paused VM.", "unpause"),
    "soft-reboot": Entry("virtshape.cli.guest.lifecycle", "Reboot a guest cleanly.", "soft_reboot"),
    "reset": Entry("virtshape.cli.guest.lifecycle", "Hard-reset a guest.", "reset"),
    "addvolume": Entry("virtshape.cli.guest.volumes", "Attach a volume to a running VM.", "addvolume"),
    "removevolume": Entry("virtshape.cli.guest.volumes", "Detach a volume from a running VM.", "removevolume"),
    "console": Entry("virtshape.cli.guest.console", "Connect to the serial console of a guest."),
    "vnc": Entry("virtshape.cli.guest.vnc", "Open the VNC screen of a guest."),
    "port-forward": Entry("virtshape.cli.guest.portforward", "Forward local ports to a guest."),
    "expose": Entry("virtshape.cli.expose", "Create a Service for a VM."),
    "ssh": Entry("virtshape.cli.guest.ssh", "Open an SSH connection to a guest.", "ssh"),
    "scp": Entry("virtshape.cli.guest.ssh", "Copy files to or from a guest.", "scp"),
    "credentials": Entry("virtshape.cli.credentials", "Change the SSH keys and passwords of a VM."),
    "guestosinfo": Entry(
        "virtshape.cli.guest.agent", "Show information about the guest's operating system.", "guestosinfo"
    ),
    "userlist": Entry("virtshape.cli.guest.agent", "List the users logged in to a guest.", "userlist"),
    "fslist": Entry("virtshape.cli.guest.agent", "List the file systems of a guest.", "fslist"),
    "permitted-devices": Entry(
        "virtshape.cli.kubevirt", "List the host devices that VMs may use.", "permitted_devices"
    ),
    "image-upload": Entry("virtshape.cli.upload.imageupload", "Upload a disk image to a PVC or DataVolume."),
    "create": Entry("virtshape.cli.create", "Print a manifest for a VM, an instance type or a preference."),
    "expand": Entry("virtshape.cli.expand", "Show a VM with its instance type and preference applied."),
    "customize": Entry("virtshape.cli.customize", "Create an instance type or preference from an existing one."),
    "recommend": Entry("virtshape.cli.recommend", "Find the best instance types for a size, a VM or measured usage."),
    "diff": Entry("virtshape.cli.diff", "Compare instance types, preferences or revisions."),
    "fit": Entry("virtshape.cli.fit", "Show how many more VMs of an instance type fit."),
    "drift": Entry("virtshape.cli.drift", "Show VMs whose instance type or preference has changed."),
    "upgrade": Entry("virtshape.cli.upgrade", "Update VMs to the current instance type and preference."),
    "migrate-type": Entry("virtshape.cli.migratetype", "Move VMs to another instance type or preference."),
    "adm": Entry("virtshape.cli.kubevirt", "Change the settings of the KubeVirt object.", "adm"),
    "completion": Entry("virtshape.cli.completion", "Print the shell completion script."),
    "options": Entry("virtshape.cli.options", "List the global flags."),
    "version": Entry("virtshape.cli.serverversion", "Print the client and server version."),
    "migrate": _unavailable("Live-migrate a VM.", "migrate"),
    "migrate-cancel": _unavailable("Cancel a live migration.", "migrate_cancel"),
    "evacuate-cancel": _unavailable("Cancel the evacuation of a VM.", "evacuate_cancel"),
    "vmexport": _unavailable("Download the volumes of a VM.", "vmexport"),
    "memory-dump": _unavailable("Write the memory of a guest to a PVC.", "memory_dump"),
    "guestfs": _unavailable("Open a shell with libguestfs on a PVC.", "guestfs"),
    "template": _unavailable("Process VirtualMachineTemplates.", "template"),
    "objectgraph": _unavailable("Show the objects that a VM depends on.", "objectgraph"),
    "usbredir": _unavailable("Redirect a USB device to a guest.", "usbredir"),
}


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Print a VM manifest", "virtctl create vm --name web --instancetype u1.medium --volume-pvc src:root"),
        Example("Show a VM with its instance type applied", "virtctl expand -f vm.yaml"),
    ],
    context_settings=SETTINGS,
)
@declare_flags
def virtctl() -> None:
    """
    Manage virtual machines, instance types and preferences.

    `virtctl` is also available as the kubectl plugin `kubectl virt`. `virtctl options` lists the global flags.

    Exit status: 0 success, 1 failure, 2 invalid command line, 3 command not available, 130 interrupted.
    """


def main() -> int:
    """Run the command line of this process."""
    return run(virtctl, "virtctl")
