"""
`virtctl ssh`: logs in to a guest with the ssh of this machine, through the server.

Only flags and words; ssh does the rest.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import complete_place
from virtshape.cli.guest.place import parse_place
from virtshape.cli.guest.sshoptions import Options, build_words, name_host, settle_namespace, ssh_options, start


@click.command(
    "ssh",
    cls=Command,
    short_help="Log in to a guest with ssh.",
    examples=[
        Example("Log in as jdoe", "virtctl ssh jdoe@vmi/web"),
        Example("With a key, to a VM of another namespace", "virtctl ssh -i ~/.ssh/id_ed25519 jdoe@vm/web/team"),
        Example("Run one command", "virtctl ssh jdoe@vmi/web -c 'uname -a'"),
        Example("Without checking its host key", 'virtctl ssh jdoe@vmi/web -t "-o StrictHostKeyChecking=no"'),
    ],
)
@click.argument("guest", metavar="[USER@][TYPE/]NAME[/NAMESPACE]", shell_complete=complete_place)
@click.option("-c", "--command", "remote", metavar="COMMAND", default="", help="A command to run, in place of a shell.")
@ssh_options
@connection_options
def command(
    *,
    guest: str,
    remote: str,
    port: int,
    login: str,
    identity: str,
    known_hosts: str,
    extra: tuple[str, ...],
    target: Target,
) -> None:
    """
    Log in to a guest with the ssh of this machine; the guest needs no address that can be reached from here.

    TYPE is vm or vmi, which is meant where none is named. To ssh the guest is the host TYPE.NAME.NAMESPACE, which may
    have settings in ~/.ssh/config.

    Exit status: that of ssh, which is the command's, or 255 where it cannot connect.
    """
    place = settle_namespace(parse_place(guest, default_kind="vmi"), target)
    options = Options(port, login, identity, known_hosts, extra)
    rest = [name_host(place, options), *([remote] if remote else [])]
    start(build_words("ssh", place, options, target, rest))
