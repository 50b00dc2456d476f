"""
`virtctl version`: which virtctl this is, and which server it talks to.

Says its own version whether or not a server answers.
"""

import platform
import sys
from importlib.metadata import version
from typing import Any

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.errors import Refusal

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
PARTS = ("gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")


@click.command(
    "version",
    cls=Command,
    short_help="Print the versions of virtctl and of the server.",
    examples=[
        Example("Both versions", "virtctl version"),
        Example("Its own alone, without asking a server", "virtctl version --client"),
        Example("For programs", "virtctl version -o json | jq -r .serverVersion.gitVersion"),
    ],
)
@switch("-c", "--client", default=False, help="Print the version of virtctl alone.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Print an object instead of lines.")
@connection_options
def command(*, client: bool, output: str | None, target: Target) -> None:
    """
    Print the version of this command and that of the server.

    Exit status: 0 both are known, 1 no server answers; its own version is printed all the same.
    """
    # Imported now, since reading help needs no API.
    from virtshape.api.status import StatusError

    versions = {"clientVersion": describe_client()}
    problem: Refusal | StatusError | None = None
    if not client:
        try:
            versions["serverVersion"] = run_session(target, read_server, instead="--client asks none.")
        except (Refusal, StatusError) as refusal:
            problem = refusal
    print_versions(versions, output)
    if problem is not None:
        raise problem


async def read_server(session: Session) -> Any:
    """What the server says it is."""
    from virtshape.client.actions import read_version

    return await read_version(session.client)


def describe_client() -> dict[str, str]:
    """What this command is, in the server's form."""
    machine = platform.machine()
    return {
        "gitVersion": f"v{version('virtshape')}",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{MACHINES.get(machine, machine)}",
    }


def print_versions(versions: dict[str, Any], output: str | None) -> None:
    """Print what is known."""
    if output is not None:
        from virtshape.cli.output import print_object

        print_object(versions, output)
        return
    for key, words in {"clientVersion": "Client Version", "serverVersion": "Server Version"}.items():
        if key in versions:
            click.echo(f"{words}: {format_version(versions[key])}")


def format_version(tree: dict[str, Any]) -> str:
    """A version as KubeVirt's virtctl writes it, for scripts that look for a part of it."""
    parts = ", ".join(f'{key[0].upper()}{key[1:]}:"{tree.get(key) or ""}"' for key in PARTS)
    return f"version.Info{{{parts}}}"
