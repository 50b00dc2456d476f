"""`virtctl port-forward`: forward local ports to a guest through the server."""

from collections.abc import Sequence

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.arguments import parse_guest, parse_port
from virtshape.cli.guest.instance import complete_guest


@click.command(
    "port-forward",
    cls=Command,
    short_help="Forward local ports to a guest.",
    examples=[
        Example("Forward local port 8080 to port 80 of the guest", "virtctl port-forward vmi/web 8080:80"),
        Example("Forward several ports, one of them UDP", "virtctl port-forward vm/dns 8053:8053 udp/5353:53"),
        Example("Forward to a guest in another namespace", "virtctl port-forward vmi/web/team 8080:80"),
        Example(
            "Use virtctl as the proxy command of ssh",
            "ssh -o 'ProxyCommand=virtctl port-forward --stdio=true vmi/web 22' root@web",
        ),
    ],
)
@click.argument("guest", metavar="TYPE/NAME[/NAMESPACE]", shell_complete=complete_guest)
@click.argument("ports", metavar="[PROTOCOL/]LOCAL[:REMOTE]...", nargs=-1, required=True)
@click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Local address to listen on.",
)
@switch("--stdio", default=False, help="Connect standard input and output to the port instead of listening.")
@connection_options
def command(*, guest: str, ports: Sequence[str], address: str, stdio: bool, target: Target) -> None:
    """
    Forward local ports to ports of a guest, until Ctrl+C.

    TYPE is vm or vmi. PROTOCOL is tcp (default) or udp. The traffic goes through the server, so the guest does not need
    a reachable address.

    Exit status: 0 stopped by Ctrl+C or the guest, 1 failed.
    """
    ref = parse_guest(guest)
    wanted = [parse_port(port) for port in ports]
    if stdio and len(wanted) != 1:
        raise click.UsageError("--stdio requires exactly one port", click.get_current_context())
    # Imported here to keep `--help` fast.
    from virtshape.cli.guest.portforwardsession import connect_stdio, forward

    if ref.namespace:
        target = target._replace(namespace=ref.namespace)
    if stdio:
        run_session(target, lambda session: connect_stdio(session, ref, wanted[0]))
    else:
        run_session(target, lambda session: forward(session, ref, wanted, address))
