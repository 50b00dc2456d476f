"""`virtctl console`: connect to the serial console of a guest, or print its log."""

import click

from virtshape.cli.command import Command, Example, Integer, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.instance import instance_argument, parse_instance_name


@click.command(
    "console",
    cls=Command,
    short_help="Connect to the serial console of a guest.",
    examples=[
        Example("Connect to the console; Ctrl+] disconnects", "virtctl console web"),
        Example("Wait at most one minute for the guest to start", "virtctl console web --timeout 1"),
        Example("Print the console log", "virtctl console web --log"),
    ],
)
@instance_argument
@click.option(
    "--timeout",
    type=Integer(0, 60 * 24 * 365),
    default=5,
    show_default=True,
    metavar="MINUTES",
    help="How long to wait for the guest to start.",
)
@switch("--log", default=False, help="Print the console log instead of connecting.")
@connection_options
def command(*, name: str, timeout: int, log: bool, target: Target) -> None:
    """
    Connect this terminal to the serial console of the instance NAME.

    All keys are sent to the guest, including Ctrl+C. Ctrl+] or Ctrl+5 disconnects. A console has one connection: a new
    one disconnects the previous one.

    Exit status: 0 disconnected by the user or the guest, 1 failed or disconnected by another connection.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.guest.consolesession import attach, print_log

    instance = parse_instance_name(name)
    if log:
        run_session(target, lambda session: print_log(session, instance))
    else:
        run_session(target, lambda session: attach(session, instance, timeout))
