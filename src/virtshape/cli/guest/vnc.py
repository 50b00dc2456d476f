"""
`virtctl vnc`: the screen of a guest in a viewer, or at a port for any viewer.

Only flags; who shows what is somebody else's business.
"""

import click

from virtshape.cli.command import Command, Example, OneOf, WholeNumber, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.instance import instance_argument, read_instance

LOOPBACK = "127.0.0.1"


@click.command(
    "vnc",
    cls=Command,
    short_help="Show the screen of a guest.",
    examples=[
        Example("Show it in the viewer of this machine", "virtctl vnc web"),
        Example("Offer it at a port for a viewer of one's own", "virtctl vnc web --proxy-only --port 5900"),
        Example("Use one viewer among several", "virtctl vnc web --vnc-type tiger --vnc-path /opt/bin/vncviewer"),
    ],
)
@instance_argument
@switch("--proxy-only", default=False, help='Start no viewer, and print where one can connect, as {"port": 5900}.')
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=0,
    metavar="PORT",
    help="Port of this machine to offer the screen at. [default: one that is free]",
)
@click.option(
    "--address",
    metavar="HOST",
    default=LOOPBACK,
    show_default=True,
    help="Address of this machine to offer the screen at; goes with --proxy-only.",
)
@click.option(
    "--vnc-type",
    "viewer_type",
    type=OneOf("remote-viewer", "tiger", "real", "chicken"),
    help="Which viewer to start, in place of the first that is found.",
)
@click.option("--vnc-path", "viewer_path", metavar="FILE", help="Where that viewer is; goes with --vnc-type.")
@connection_options
def command(
    *,
    name: str,
    proxy_only: bool,
    port: int,
    address: str,
    viewer_type: str | None,
    viewer_path: str | None,
    target: Target,
) -> None:
    """
    Show the screen of the instance NAME in a VNC viewer, and end with it.

    There is one viewer at a time: who connects takes over from whoever was connected.

    Exit status: 0 the viewer or the guest has ended, 1 refused or taken over.
    """
    ctx = click.get_current_context()
    if viewer_path and not viewer_type:
        raise click.UsageError("--vnc-path goes with --vnc-type, which says how the viewer is called", ctx)
    if address != LOOPBACK and not proxy_only:
        raise click.UsageError("--address goes with --proxy-only", ctx)
    # Imported now, since reading help needs no connection.
    from virtshape.cli.guest.showing import choose_viewer, offer

    viewer = None if proxy_only else choose_viewer(viewer_type or "", viewer_path or "")
    instance = read_instance(name)
    run_session(target, lambda session: offer(session, instance, viewer, address, port))
