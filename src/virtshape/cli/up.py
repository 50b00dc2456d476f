"""
`virtshape up`: runs the system in this terminal until a signal stops it.

Only flags, what is printed for the user, and the exit status.
"""

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import Refusal

if TYPE_CHECKING:
    from virtshape.standalone.runtime import LauncherName
    from virtshape.standalone.server import Ready, Settings

LEVELS = ("debug", "info", "warning", "error")


class Address(click.ParamType):  # type: ignore[type-arg] # click 8.1 takes none
    """A host and a port, such as 127.0.0.1:6443, :6443 for every address of the machine, or [::1]:6443."""

    name = "host:port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read both."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is no host and port, such as 127.0.0.1:6443.", param, ctx)
        bare = host.removeprefix("[").removesuffix("]")
        if ":" in bare and bare == host:
            self.fail(f"an IPv6 address stands in brackets: [{host}]:{port}.", param, ctx)
        return bare or "0.0.0.0", int(port)  # noqa: S104 - as the user asks


@click.command(
    "up",
    cls=Command,
    short_help="Run the API server in this terminal.",
    examples=[
        Example("Run it; the terminal says what to type next", "virtshape up"),
        Example("Run a second one beside it", "virtshape up --data-dir ./scratch --listen 127.0.0.1:7443"),
        Example("Have every request logged, for a program to read", "virtshape up --log-level debug --log-format json"),
    ],
)
@data_directory_option
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default="127.0.0.1:6443",
    show_default=True,
    help="Address to serve the API at; port 0 lets the system choose one.",
)
@click.option(
    "--launcher",
    type=click.Choice(["qemu", "simulate", "none"]),
    default="qemu",
    show_default=True,
    help="What runs VMs: QEMU, a simulation that says it is one, or nothing.",
)
@click.option(
    "--controllers/--no-controllers", default=True, show_default=True, help="Make VMs' instances from VMs, or not."
)
@click.option(
    "--catalog/--no-catalog",
    default=True,
    show_default=True,
    help="Load the common instance types and preferences; what is there of the same name is kept.",
)
@click.option(
    "--history-seconds",
    type=click.FloatRange(min=0),
    default=300,
    show_default=True,
    help="How long a watch can go back, in seconds...",
)
@click.option(
    "--history-revisions",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="...and in any case this many changes.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What is worth a line.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How lines look."
)
def command(
    directory: Path,
    listen: tuple[str, int],
    launcher: "LauncherName",
    controllers: bool,
    catalog: bool,
    history_seconds: float,
    history_revisions: int,
    log_level: str,
    log_format: Literal["text", "json"],
) -> None:
    """
    Run the system: a Kubernetes API with VMs, instance types and preferences, kept in one directory.

    Runs in the foreground until Ctrl-C, SIGTERM or `virtshape down`; then finishes what is under way and ends.
    Everything it has is in the data directory, and there again at the next start.

    Before it is ready it prints what this machine lacks, as `virtshape doctor` does, and which guests run already.
    Guests keep running when it ends; `virtshape down --guests` stops them.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported now, since reading help needs no server.
    from virtshape.daemon.logs import set_up_logs
    from virtshape.standalone.server import Settings

    set_up_logs(log_level, log_format)
    host, port = listen
    settings = Settings(
        directory=directory.absolute(),
        host=host,
        port=port,
        catalog=catalog,
        controllers=controllers,
        launcher=launcher,
        history_seconds=history_seconds,
        history_revisions=history_revisions,
    )
    print_problems(settings)
    print_guests_found(settings.directory)
    run_server(settings)
    print_guests_left(settings.directory)


def print_problems(settings: "Settings") -> None:
    """Print what will not work on this machine, and the command that fixes it."""
    from virtshape.cli.doctor import print_checks
    from virtshape.standalone.doctor.checks import can_run_guests, check_guests, check_server, list_fixes
    from virtshape.standalone.doctor.facts import gather_facts

    facts = gather_facts(settings.directory, settings.host, None, versions=False)
    runs_guests = settings.controllers and settings.launcher == "qemu"
    checks = [*check_server(facts), *(check_guests(facts) if runs_guests else [])]
    problems = [check for check in checks if check.status != "ok"]
    if not problems:
        return
    if runs_guests and not can_run_guests(checks):
        click.echo("No guest can run on this machine; everything else works:")
    print_checks(problems)
    click.echo("To fix it:\n" + "\n".join(f"  {fix}" for fix in list_fixes(problems, facts)) + "\n")


def print_guests_found(directory: Path) -> None:
    """Print which guests run already, since an earlier server left them running."""
    from virtshape.standalone.guests.running import count_guests, list_running_guests, name_guests

    guests = list_running_guests(directory)
    if guests:
        click.echo(f"Found {count_guests(guests)} running: {name_guests(guests)}")


def print_guests_left(directory: Path) -> None:
    """Print which guests keep running without a server, and how to stop them."""
    from virtshape.standalone.guests.running import count_guests, list_running_guests, name_guests

    guests = list_running_guests(directory)
    if guests:
        keep = "keeps" if len(guests) == 1 else "keep"
        click.echo(
            f"{count_guests(guests)} {keep} running: {name_guests(guests)}\n"
            f"To stop: virtshape down --guests{name_flag(directory)}. The next `virtshape up` finds them again."
        )


def run_server(settings: "Settings") -> None:
    """Serve until a signal comes; what keeps it from running becomes a refusal."""
    import uvloop

    from virtshape.apiserver.auth.pki import PkiError
    from virtshape.apiserver.auth.userregistry import UserRegistryError
    from virtshape.standalone.server import run
    from virtshape.store.errors import LockedError, StoreError

    flag = name_flag(settings.directory)
    try:
        uvloop.run(run(settings, lambda ready: announce(ready, settings.directory)))
    except LockedError as error:
        raise Refusal(str(error), next_step=f"See `virtshape status{flag}`, or end it: virtshape down{flag}") from None
    except (StoreError, PkiError, UserRegistryError) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise refuse_address(error, settings.host, settings.port) from None


def refuse_address(error: OSError, host: str, port: int) -> Refusal:
    """Say why the server cannot listen, and what to do about it."""
    number = error.errno
    reason = os.strerror(number) if number is not None and number in errno.errorcode else str(error)
    step = "Choose another address: --listen 127.0.0.1:0 takes a port that is free."
    return Refusal(f"cannot listen on {host}:{port}: {reason}", next_step=step)


def announce(ready: "Ready", directory: Path) -> None:
    """Say that the server is there, and what to type next."""
    flag = name_flag(directory)
    click.echo(
        f"virtshape is ready at {ready.url} (process {os.getpid()}). In another terminal:\n\n"
        f"  export KUBECONFIG={ready.kubeconfig}\n"
        "  kubectl get vmclusterinstancetypes\n"
        "  kubectl apply -f examples/demo.yaml\n"
        "  kubectl get vm -o wide\n\n"
        f"Ctrl-C stops it; so does `virtshape down{flag}`."
    )
    sys.stdout.flush()
