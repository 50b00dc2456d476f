"""
`virtctl console`: the serial console of a guest in this terminal, or what it has shown so far.

Only flags; the terminal is somebody else's business.
"""

import click

from virtshape.cli.command import Command, Example, WholeNumber, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.instance import instance_argument, read_instance


@click.command(
    "console",
    cls=Command,
    short_help="Connect to the serial console of a guest.",
    examples=[
        Example("Log in to a guest; Ctrl+] leaves it", "virtctl console web"),
        Example("Wait at most one minute for it to run", "virtctl console web --timeout 1"),
        Example("What it has shown since it started", "virtctl console web --log"),
    ],
)
@instance_argument
@click.option(
    "--timeout",
    type=WholeNumber(0, 60 * 24 * 365),
    default=5,
    show_default=True,
    metavar="MINUTES",
    help="How long to wait for the guest to run.",
)
@switch("--log", default=False, help="Print what the console has shown so far, in place of connecting to it.")
@connection_options
def command(*, name: str, timeout: int, log: bool, target: Target) -> None:
    """
    Connect this terminal to the serial console of the instance NAME.

    Every key goes to the guest, Ctrl+C too; Ctrl+] or Ctrl+5 ends the connection and leaves the guest as it is. There
    is one at a time: who connects takes over from whoever was connected.

    Exit status: 0 left by the escape or ended by the guest, 1 refused or taken over.
    """
    # Imported now, since reading help needs no terminal.
    from virtshape.cli.guest.attaching import attach, print_log

    instance = read_instance(name)
    if log:
        run_session(target, lambda session: print_log(session, instance))
    else:
        run_session(target, lambda session: attach(session, instance, timeout))
