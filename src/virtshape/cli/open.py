"""`virtshape open`: open the web console in a browser, signed in by a one-time link."""

import asyncio
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import CommandError

if TYPE_CHECKING:
    from virtshape.client.access import Access

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


@click.command(
    "open",
    cls=Command,
    short_help="Open the web console in a browser.",
    examples=[
        Example("Open the web console as the administrator", "virtshape open"),
        Example("Print the link, to open it in another browser", "virtshape open --print"),
        Example("Sign in as another user", "virtshape open --kubeconfig jane.kubeconfig"),
    ],
)
@data_directory_option
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Sign in as the user of this kubeconfig, to its server. [default: the administrator in the data directory]",
)
@click.option("--print", "only_print", is_flag=True, help="Print the link instead of opening a browser.")
def command(directory: Path, kubeconfig: Path | None, only_print: bool) -> None:
    """
    Open the web console of a running server, signed in as the user of the kubeconfig.

    The link contains a code that works once and for five minutes. Without a browser on this machine, the link is
    printed. The session has the permissions of the user. It ends when the user's token or certificate expires, or after
    8 hours.
    """
    # Imported here to keep `--help` fast.
    from virtshape.client.errors import ConfigError, UnreachableError
    from virtshape.client.kubeconfig import get_access
    from virtshape.standalone.serveraccess import UnknownSystemError, read_access

    start = f"Start the server first: virtshape up{name_flag(directory)}"
    try:
        access = get_access(path=str(kubeconfig)) if kubeconfig else read_access(directory)
        link = asyncio.run(request_link(access))
    except UnknownSystemError as error:
        raise CommandError(str(error), next_step=start) from None
    except ConfigError as error:
        raise CommandError(str(error), next_step="Correct the kubeconfig, or choose another.") from None
    except UnreachableError as error:
        raise CommandError(str(error), next_step=start) from None
    if only_print or not has_display() or not webbrowser.open(link):
        click.echo(link)
    else:
        click.echo("Opened the web console in the browser.")


async def request_link(access: "Access") -> str:
    """Request a one-time link for the user of these credentials, and return it."""
    import msgspec

    from virtshape.client.errors import parse_status_error
    from virtshape.client.http import HttpTransport
    from virtshape.client.transport import Call
    from virtshape.web.console import CODES_PATH, format_link
    from virtshape.web.signin import CodeInfo

    transport = HttpTransport(access)
    try:
        reply = await transport.call(Call("POST", CODES_PATH))
    finally:
        await transport.close()
    if reply.status == 404:
        raise CommandError(
            f"the server at {access.server} has no web console", next_step="Select a server that `virtshape up` runs."
        )
    if reply.status != 201:
        raise parse_status_error(reply.body, reply.status)
    return format_link(access.server, msgspec.json.decode(reply.body, type=CodeInfo).code)


def has_display() -> bool:
    """Return True if a browser can show a window: on Linux, only with a display."""
    return not sys.platform.startswith("linux") or any(os.environ.get(name) for name in _DISPLAYS)
