"""`virtctl version`: print the client version and, if a server answers, the server version."""

import platform
import sys
from importlib.metadata import version
from typing import Any

import click

from virtshape.api.architecture import format_platform
from virtshape.api.model import JsonObject
from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.errors import CommandError

PARTS = ("gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")


@click.command(
    "version",
    cls=Command,
    short_help="Print the client and server version.",
    examples=[
        Example("Print both versions", "virtctl version"),
        Example("Print only the client version", "virtctl version --client"),
        Example("Print the server version for a script", "virtctl version -o json | jq -r .serverVersion.gitVersion"),
    ],
)
@switch("-c", "--client", default=False, help="Print only the client version; do not contact the server.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Output format, instead of plain lines.")
@connection_options
def command(*, client: bool, output: str | None, target: Target) -> None:
    """
    Print the client and server version.

    Exit status: 0 success, 1 the server does not answer; the client version is still printed.
    """
    # Imported here to keep `--help` fast.
    from virtshape.api.status import StatusError

    versions = {"clientVersion": describe_client()}
    problem: CommandError | StatusError | None = None
    if not client:
        try:
            versions["serverVersion"] = run_session(
                target, read_server, instead="--client prints only the client version."
            )
        except (CommandError, StatusError) as refusal:
            problem = refusal
    print_versions(versions, output)
    if problem is not None:
        raise problem


async def read_server(session: Session) -> Any:
    """Return the server's version."""
    from virtshape.client.actions import read_version

    return await read_version(session.client)


def describe_client() -> dict[str, str]:
    """Return the client's version in the server's format."""
    return {
        "gitVersion": f"v{version('virtshape')}",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": format_platform(),
    }


def print_versions(versions: JsonObject, output: str | None) -> None:
    """Print the versions."""
    if output is not None:
        from virtshape.cli.output import print_object

        print_object(versions, output)
        return
    for key, title in {"clientVersion": "Client Version", "serverVersion": "Server Version"}.items():
        if key in versions:
            click.echo(f"{title}: {format_version(versions[key])}")


def format_version(tree: JsonObject) -> str:
    """Return a version in the format of KubeVirt's virtctl, which scripts may parse."""
    parts = ", ".join(f'{key[0].upper()}{key[1:]}:"{tree.get(key) or ""}"' for key in PARTS)
    return f"version.Info{{{parts}}}"
