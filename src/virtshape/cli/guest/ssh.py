"""`virtctl ssh` and `virtctl scp`: run the local OpenSSH client with `virtctl port-forward` as its proxy command."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from virtshape.cli.command import Command, Example, Integer, collect, switch
from virtshape.cli.connection import Target, connection_options, get_server
from virtshape.cli.errors import ArgumentError, CommandError
from virtshape.cli.guest.arguments import GuestRef, parse_guest
from virtshape.cli.guest.instance import complete_guest
from virtshape.cli.overrides import format_flags


class Options(NamedTuple):
    """Options for the local ssh or scp."""

    port: int
    login: str
    """The user to log in as; not named `user`, which is a connection flag."""
    identity: str
    known_hosts: str
    extra: tuple[str, ...]


def ssh_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the ssh flags to a command, which receives them as `options`."""
    for option in (
        click.option(
            "-t",
            "--local-ssh-opts",
            "extra",
            metavar="OPTION",
            multiple=True,
            help='Option for the local program, such as "-o StrictHostKeyChecking=no". Can be repeated.',
        ),
        click.option("--known-hosts", metavar="FILE", default="", help="Known hosts file, instead of ssh's default."),
        click.option(
            "-i", "--identity-file", "identity", metavar="FILE", default="", help="Private key to log in with."
        ),
        click.option("-l", "--username", "login", metavar="USER", default="", help="User to log in as."),
        click.option(
            "-p",
            "--port",
            type=Integer(1, 65535),
            default=22,
            show_default=True,
            metavar="PORT",
            help="Port of the SSH server in the guest.",
        ),
        switch(
            "--local-ssh",
            default=True,
            expose_value=False,
            hidden=True,
            help="Accepted for compatibility: the local program is always used.",
        ),
    ):
        function = option(function)
    return collect(function, "options", Options)


@click.command(
    "ssh",
    cls=Command,
    short_help="Open an SSH connection to a guest.",
    examples=[
        Example("Log in as jdoe", "virtctl ssh jdoe@vmi/web"),
        Example("Use a key, for a VM in another namespace", "virtctl ssh -i ~/.ssh/id_ed25519 jdoe@vm/web/team"),
        Example("Run one command", "virtctl ssh jdoe@vmi/web -c 'uname -a'"),
        Example("Skip the host key check", 'virtctl ssh jdoe@vmi/web -t "-o StrictHostKeyChecking=no"'),
    ],
)
@click.argument("guest", metavar="[USER@][TYPE/]NAME[/NAMESPACE]", shell_complete=complete_guest)
@click.option("-c", "--command", "remote", metavar="COMMAND", default="", help="Run this command instead of a shell.")
@ssh_options
@connection_options
def ssh(
    *,
    guest: str,
    remote: str,
    options: Options,
    target: Target,
) -> None:
    """
    Log in to a guest with the local ssh. The guest does not need a reachable address.

    TYPE is vm or vmi (default). ssh sees the guest as the host TYPE.NAME.NAMESPACE, which can be configured in
    ~/.ssh/config.

    Exit status: that of the remote command, or 255 if ssh cannot connect.
    """
    ref = add_namespace(parse_guest(guest, default_kind="vmi"), target)
    rest = [format_host(ref, options), *([remote] if remote else [])]
    run_program(build_args("ssh", ref, options, target, rest))


@click.command(
    "scp",
    cls=Command,
    short_help="Copy files to or from a guest.",
    examples=[
        Example("Copy a file to a guest", "virtctl scp notes.txt jdoe@vmi/web:notes.txt"),
        Example("Copy a directory from a VM in another namespace", "virtctl scp -r jdoe@vm/web/team:/var/log ./log"),
    ],
)
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="DESTINATION")
@switch("-r", "--recursive", default=False, help="Copy directories recursively.")
@switch("--preserve", default=False, help="Preserve modification times and modes.")
@ssh_options
@connection_options
def scp(
    *,
    source: str,
    destination: str,
    recursive: bool,
    preserve: bool,
    options: Options,
    target: Target,
) -> None:
    """
    Copy files from SOURCE to DESTINATION with the local scp. Either SOURCE or DESTINATION is a path in a guest.

    Write a path in a guest as [USER@][TYPE/]NAME[/NAMESPACE]:PATH. TYPE is vm or vmi (default).

    Exit status: that of scp.
    """
    guest, path = parse_remote_path(source, destination)
    ref = add_namespace(guest, target)
    remote = f"{format_host(ref, options)}:{path}"
    paths = [remote, destination] if is_remote(source) else [source, remote]
    flags = [*(["-r"] if recursive else []), *(["-p"] if preserve else [])]
    run_program(build_args("scp", ref, options, target, [*flags, *paths]))


def is_remote(path: str) -> bool:
    """Return True if the path is in a guest."""
    return ":" in path


def parse_remote_path(source: str, destination: str) -> tuple[GuestRef, str]:
    """Return the guest that a copy reads or writes, and the path in the guest."""
    if is_remote(source) == is_remote(destination):
        problem = "both paths are in guests" if is_remote(source) else "neither path is in a guest"
        message = f"{problem}: exactly one path must be in a guest"
        raise ArgumentError(message, next_step="For example: notes.txt jdoe@vmi/web:notes.txt")
    remote = source if is_remote(source) else destination
    guest, _, path = remote.partition(":")
    return parse_guest(guest, default_kind="vmi"), path


def add_namespace(guest: GuestRef, target: Target) -> GuestRef:
    """Return the guest with the current namespace if it has none."""
    return guest if guest.namespace else guest._replace(namespace=target.namespace or get_server(target)[0].namespace)


def build_proxy_command(guest: GuestRef, port: int, target: Target, program: str) -> str:
    """Return the proxy command for ssh, with percent signs escaped."""
    args = [program, "port-forward", "--stdio=true"]
    if target.kubeconfig:
        args.append(f"--kubeconfig={Path(target.kubeconfig).absolute()}")
    if target.context:
        args.append(f"--context={target.context}")
    args += format_flags(target.overrides)
    args += [f"{guest.kind}/{guest.name}/{guest.namespace}", str(port)]
    return shlex.join(args).replace("%", "%%")


def build_args(name: str, guest: GuestRef, options: Options, target: Target, rest: Sequence[str]) -> list[str]:
    """Return the command line of the local ssh or scp."""
    args = [name, "-o", f"ProxyCommand={build_proxy_command(guest, options.port, target, find_own_program())}"]
    if options.known_hosts:
        args += ["-o", f"UserKnownHostsFile={options.known_hosts}"]
    args += options.extra
    if options.identity:
        args += ["-i", options.identity]
    return [*args, *rest]


def format_host(guest: GuestRef, options: Options) -> str:
    """Return `[USER@]HOST` for ssh; the host is a name that ssh looks up in its known hosts, not an address."""
    user = guest.user or options.login
    host = f"{guest.kind}.{guest.name}.{guest.namespace}"
    return f"{user}@{host}" if user else host


def find_own_program() -> str:
    """Return the path of the running program."""
    return shutil.which(sys.argv[0]) or str(Path(sys.argv[0]).absolute())


def run_program(args: Sequence[str]) -> NoReturn:
    """Replace this process with the local ssh or scp."""
    path = shutil.which(args[0])
    if path is None:
        raise CommandError(
            f"{args[0]} is not installed", next_step="Install the OpenSSH client, such as the package openssh-client."
        )
    sys.stdout.flush()
    os.execv(path, list(args))  # noqa: S606 - the arguments are the user's, and no shell reads them
