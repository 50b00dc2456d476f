"""`virtctl credentials`: change the SSH keys and passwords that the guest agent sets in a VM."""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "add-ssh-key": Entry("virtshape.cli.credentials.sshkey", "Add an SSH key to a VM.", "add"),
    "remove-ssh-key": Entry("virtshape.cli.credentials.sshkey", "Remove an SSH key from a VM.", "remove"),
    "set-password": Entry("virtshape.cli.credentials.password", "Set the password of a user of a VM."),
}


@click.group(
    "credentials",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Add an SSH key", "virtctl credentials add-ssh-key web --user jdoe --file ~/.ssh/id_ed25519.pub"),
        Example("Set a password", "virtctl credentials set-password web --user jdoe --password-file password.txt"),
    ],
)
def command() -> None:
    """
    Change the SSH keys and passwords of a VM.

    The keys and passwords are kept in Secrets that `accessCredentials` of the VM refers to. The QEMU guest agent sets
    them in the running guest; the instance's condition AccessCredentialsSynchronized shows whether this succeeded.
    """
