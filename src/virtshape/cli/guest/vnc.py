"""`virtctl vnc`: open the VNC screen of a guest in a viewer, or serve it on a local port."""

import click

from virtshape.cli.command import Command, Example, Integer, OneOf, switch
from virtshape.cli.connection import Target, connection_options, run_session
from virtshape.cli.guest.instance import instance_argument, parse_instance_name

LOOPBACK = "127.0.0.1"


@click.command(
    "vnc",
    cls=Command,
    short_help="Open the VNC screen of a guest.",
    examples=[
        Example("Open the screen in the installed viewer", "virtctl vnc web"),
        Example("Serve the screen on a port for another viewer", "virtctl vnc web --proxy-only --port 5900"),
        Example("Choose a viewer", "virtctl vnc web --vnc-type tiger --vnc-path /opt/bin/vncviewer"),
    ],
)
@instance_argument
@switch("--proxy-only", default=False, help='Do not start a viewer; print the port to connect to, as {"port": 5900}.')
@click.option(
    "--port",
    type=Integer(0, 65535),
    default=0,
    metavar="PORT",
    help="Local port to serve the screen on. [default: a free port]",
)
@click.option(
    "--address",
    metavar="HOST",
    default=LOOPBACK,
    show_default=True,
    help="Local address to serve the screen on. Requires --proxy-only.",
)
@click.option(
    "--vnc-type",
    "viewer_type",
    type=OneOf("remote-viewer", "tiger", "real", "chicken"),
    help="Viewer to start, instead of the first one found.",
)
@click.option("--vnc-path", "viewer_path", metavar="FILE", help="Path of the viewer. Requires --vnc-type.")
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
    Open the screen of the instance NAME in a VNC viewer, and exit when the viewer exits.

    A screen has one connection: a new one disconnects the previous one.

    Exit status: 0 the viewer or the guest has exited, 1 failed or disconnected by another connection.
    """
    ctx = click.get_current_context()
    if viewer_path and not viewer_type:
        raise click.UsageError("--vnc-path requires --vnc-type", ctx)
    if address != LOOPBACK and not proxy_only:
        raise click.UsageError("--address requires --proxy-only", ctx)
    # Imported here to keep `--help` fast.
    from virtshape.cli.guest.vncsession import serve_screen
    from virtshape.cli.guest.vncviewer import choose_viewer

    viewer = None if proxy_only else choose_viewer(viewer_type or "", viewer_path or "")
    instance = parse_instance_name(name)
    run_session(target, lambda session: serve_screen(session, instance, viewer, address, port))
