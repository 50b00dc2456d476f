"""
`virtshape user`: who gets into a system, and what they may do.

Only the table of what can be done.
"""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "add": Entry("virtshape.cli.user.add", "Give someone access, and print their kubeconfig."),
    "list": Entry("virtshape.cli.user.list", "Show who has access."),
    "rm": Entry("virtshape.cli.user.rm", "Take someone's access back."),
}


@click.group(
    "user",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Let bob work in one namespace", "virtshape user add bob --namespace dev --role edit > bob.kubeconfig"),
        Example("See who has access", "virtshape user list"),
    ],
)
def command() -> None:
    """
    Give people access to a system, and take it back.

    Works on a running system and on one that is stopped.
    """
