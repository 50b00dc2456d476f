"""`virtshape user`: manage users."""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "add": Entry("virtshape.cli.user.add", "Add a user and print a kubeconfig."),
    "list": Entry("virtshape.cli.user.list", "List users."),
    "rm": Entry("virtshape.cli.user.rm", "Remove users."),
}


@click.group(
    "user",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example(
            "Grant bob the role edit in one namespace",
            "virtshape user add bob --namespace dev --role edit > bob.kubeconfig",
        ),
        Example("List the users", "virtshape user list"),
    ],
)
def command() -> None:
    """
    Add, list and remove users.

    The server may be running or stopped.
    """
