"""
What `virtctl ssh` and `virtctl scp` have in common: their flags, and the local program with us as its proxy.

Starts the program in place of this process.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from virtshape.cli.command import WholeNumber, switch
from virtshape.cli.connection import Target, find_server
from virtshape.cli.errors import Refusal
from virtshape.cli.guest.place import Place
from virtshape.cli.overriding import write_flags


class Options(NamedTuple):
    """How the local program is called."""

    port: int
    user: str
    identity: str
    known_hosts: str
    extra: tuple[str, ...]


def ssh_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags of ssh."""
    for option in (
        click.option(
            "-t",
            "--local-ssh-opts",
            "extra",
            metavar="OPTION",
            multiple=True,
            help='An option for the local program, such as "-o StrictHostKeyChecking=no"; may be given again.',
        ),
        click.option(
            "--known-hosts", metavar="FILE", default="", help="File of known host keys, in place of ssh's own."
        ),
        click.option(
            "-i", "--identity-file", "identity", metavar="FILE", default="", help="Private key to log in with."
        ),
        click.option("-l", "--username", "login", metavar="USER", default="", help="Whom to log in as."),
        click.option(
            "-p",
            "--port",
            type=WholeNumber(1, 65535),
            default=22,
            show_default=True,
            metavar="PORT",
            help="The guest's port that its ssh server listens at.",
        ),
        switch(
            "--local-ssh",
            default=True,
            expose_value=False,
            hidden=True,
            help="Taken for the sake of scripts: the local program is always used.",
        ),
    ):
        function = option(function)
    return function


def settle_namespace(place: Place, target: Target) -> Place:
    """The same place, with the namespace that is meant where it names none."""
    return place if place.namespace else place._replace(namespace=target.namespace or find_server(target)[0].namespace)


def build_proxy(place: Place, port: int, target: Target, program: str) -> str:
    """The command that ssh is to reach the guest with; ssh gives percent signs a meaning."""
    words = [program, "port-forward", "--stdio=true"]
    if target.kubeconfig:
        words.append(f"--kubeconfig={Path(target.kubeconfig).absolute()}")
    if target.context:
        words.append(f"--context={target.context}")
    words += write_flags(target.overrides)
    words += [f"{place.kind}/{place.name}/{place.namespace}", str(port)]
    return shlex.join(words).replace("%", "%%")


def build_words(name: str, place: Place, options: Options, target: Target, rest: Sequence[str]) -> list[str]:
    """The command line of the local program."""
    words = [name, "-o", f"ProxyCommand={build_proxy(place, options.port, target, find_ourselves())}"]
    if options.known_hosts:
        words += ["-o", f"UserKnownHostsFile={options.known_hosts}"]
    words += options.extra
    if options.identity:
        words += ["-i", options.identity]
    return [*words, *rest]


def name_host(place: Place, options: Options) -> str:
    """Who and where, as the local program is told; the host is a name for its known hosts and no address."""
    user = place.user or options.user
    host = f"{place.kind}.{place.name}.{place.namespace}"
    return f"{user}@{host}" if user else host


def find_ourselves() -> str:
    """The program that this is."""
    return shutil.which(sys.argv[0]) or str(Path(sys.argv[0]).absolute())


def start(words: Sequence[str]) -> NoReturn:
    """Become the local program; Refusal if there is none."""
    path = shutil.which(words[0])
    if path is None:
        raise Refusal(
            f"{words[0]} is not installed", next_step="Install OpenSSH's client, such as the package openssh-client."
        )
    sys.stdout.flush()
    os.execv(path, list(words))  # noqa: S606 - the words are the user's, and no shell reads them
