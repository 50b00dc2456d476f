"""
`virtctl port-forward`: ports of this machine that lead to ports of a guest, through the server.

Only flags; the forwarding is somebody else's business.
"""

from collections.abc import Sequence

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.instance import complete_place
from virtshape.cli.guest.place import parse_place
from virtshape.cli.guest.ports import parse_port


@click.command(
    "port-forward",
    cls=Command,
    short_help="Forward local ports to a guest.",
    examples=[
        Example("Reach the guest's port 80 at this machine's 8080", "virtctl port-forward vmi/web 8080:80"),
        Example("Forward several ports, one of them UDP", "virtctl port-forward vm/dns 8053:8053 udp/5353:53"),
        Example("A guest of another namespace", "virtctl port-forward vmi/web/team 8080:80"),
        Example(
            "Use it as a proxy of ssh",
            "ssh -o 'ProxyCommand=virtctl port-forward --stdio=true vmi/web 22' root@web",
        ),
    ],
)
@click.argument("guest", metavar="TYPE/NAME[/NAMESPACE]", shell_complete=complete_place)
@click.argument("ports", metavar="[PROTOCOL/]LOCAL[:REMOTE]...", nargs=-1, required=True)
@click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine to listen at.",
)
@switch("--stdio", default=False, help="Connect standard input and output to the one port, in place of a local port.")
@connection_options
def command(*, guest: str, ports: Sequence[str], address: str, stdio: bool, target: Target) -> None:
    """
    Forward ports of this machine to ports of a guest, until Ctrl+C.

    TYPE is vm or vmi. PROTOCOL is tcp, which is meant where none is named, or udp. All bytes go through the server, so
    the guest needs no address that can be reached from here.

    Exit status: 0 ended by Ctrl+C or by the guest, 1 refused.
    """
    place = parse_place(guest)
    wanted = [parse_port(port) for port in ports]
    if stdio and len(wanted) != 1:
        raise click.UsageError("--stdio goes with one port only", click.get_current_context())
    # Imported now, since reading help needs no connection.
    from virtshape.cli.guest.forwarding import connect_stdio, forward

    if place.namespace:
        target = target._replace(namespace=place.namespace)
    if stdio:
        run_session(target, lambda session: connect_stdio(session, place, wanted[0]))
    else:
        run_session(target, lambda session: forward(session, place, wanted, address))
