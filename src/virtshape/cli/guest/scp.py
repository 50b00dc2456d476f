"""
`virtctl scp`: copies files to and from a guest with the scp of this machine, through the server.

Only flags and words; scp does the rest.
"""

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.errors import NotUnderstood
from virtshape.cli.guest.place import Place, parse_place
from virtshape.cli.guest.sshoptions import Options, build_words, name_host, settle_namespace, ssh_options, start


@click.command(
    "scp",
    cls=Command,
    short_help="Copy files to or from a guest.",
    examples=[
        Example("Copy a file to a guest", "virtctl scp notes.txt jdoe@vmi/web:notes.txt"),
        Example("Copy a folder from a VM of another namespace", "virtctl scp -r jdoe@vm/web/team:/var/log ./log"),
    ],
)
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="DESTINATION")
@switch("-r", "--recursive", default=False, help="Copy folders with all that is in them.")
@switch("--preserve", default=False, help="Keep times and modes.")
@ssh_options
@connection_options
def command(
    *,
    source: str,
    destination: str,
    recursive: bool,
    preserve: bool,
    port: int,
    login: str,
    identity: str,
    known_hosts: str,
    extra: tuple[str, ...],
    target: Target,
) -> None:
    """
    Copy files from SOURCE to DESTINATION with the scp of this machine; one of them is in a guest.

    What is in a guest is written [USER@][TYPE/]NAME[/NAMESPACE]:PATH. TYPE is vm or vmi, which is meant where none is
    named.

    Exit status: that of scp.
    """
    guest, path = read_sides(source, destination)
    place = settle_namespace(guest, target)
    options = Options(port, login, identity, known_hosts, extra)
    remote = f"{name_host(place, options)}:{path}"
    sides = [remote, destination] if is_remote(source) else [source, remote]
    flags = [*(["-r"] if recursive else []), *(["-p"] if preserve else [])]
    start(build_words("scp", place, options, target, [*flags, *sides]))


def is_remote(side: str) -> bool:
    """Whether a side of a copy is in a guest."""
    return ":" in side


def read_sides(source: str, destination: str) -> tuple[Place, str]:
    """The guest of a copy, and the path in it."""
    if is_remote(source) == is_remote(destination):
        words = "both sides are in guests" if is_remote(source) else "neither side is in a guest"
        raise NotUnderstood(f"{words}: one is to be", next_step="For example: notes.txt jdoe@vmi/web:notes.txt")
    side = source if is_remote(source) else destination
    guest, _, path = side.partition(":")
    return parse_place(guest, default_kind="vmi"), path
