"""`virtshape up`: run the server in the foreground until a signal stops it."""

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, LogFormat, log_options
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import CommandError
from virtshape.cli.paramtypes import Address
from virtshape.standalone.serveraccess import DEFAULT_HOST, DEFAULT_PORT

if TYPE_CHECKING:
    from virtshape.standalone.doctor.checks import Diagnosis
    from virtshape.standalone.guestruntimes import LauncherName
    from virtshape.standalone.server import Ready, Settings

DEFAULT_LISTEN = f"{DEFAULT_HOST}:{DEFAULT_PORT}"


@click.command(
    "up",
    cls=Command,
    short_help="Run the API server in this terminal.",
    examples=[
        Example("Run the server", "virtshape up"),
        Example("Run a second server on the same machine", "virtshape up --data-dir ./scratch --listen 127.0.0.1:7443"),
        Example("Log every request as JSON", "virtshape up --log-level debug --log-format json"),
    ],
)
@data_directory_option
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="Address to serve the API on; port 0 chooses a free port.",
)
@click.option(
    "--launcher",
    type=click.Choice(["qemu", "simulate", "none"]),
    default="qemu",
    show_default=True,
    help="How VMs run: with QEMU, simulated, or not at all.",
)
@click.option(
    "--controllers/--no-controllers",
    default=True,
    show_default=True,
    help="Run the controllers, which create instances for VMs.",
)
@click.option(
    "--catalog/--no-catalog",
    default=True,
    show_default=True,
    help="Create the built-in instance types and preferences. Existing objects are kept.",
)
@click.option(
    "--history-seconds",
    type=click.FloatRange(min=0),
    default=300,
    show_default=True,
    help="How long to keep past changes for watches.",
)
@click.option(
    "--history-revisions",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="Minimum number of past changes to keep.",
)
@log_options("text")
def command(
    directory: Path,
    listen: tuple[str, int],
    launcher: "LauncherName",
    controllers: bool,
    catalog: bool,
    history_seconds: float,
    history_revisions: int,
    log_level: str,
    log_format: LogFormat,
) -> None:
    """
    Run a Kubernetes API server with VMs, instance types and preferences.

    The server runs in the foreground until Ctrl-C, SIGTERM or `virtshape down`, then finishes requests in progress and
    exits. All data is stored in the data directory and loaded again at the next start.

    At start the server prints the problems that `virtshape doctor` finds, and the guests that are already running.
    Guests keep running when the server exits; `virtshape down --guests` stops them.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from concurrent.futures import ThreadPoolExecutor

    from virtshape.daemon.logs import set_up_logs

    set_up_logs(log_level, log_format, "embedded")
    host, port = listen
    directory = directory.absolute()
    with ThreadPoolExecutor() as pool:  # probe the machine while the server is imported
        diagnosing = pool.submit(diagnose, directory, host, guests=controllers and launcher == "qemu")

        from virtshape.standalone.server import Settings
    settings = Settings(
        directory=directory,
        host=host,
        port=port,
        catalog=catalog,
        controllers=controllers,
        launcher=launcher,
        history_seconds=history_seconds,
        history_revisions=history_revisions,
    )
    print_problems(diagnosing.result())
    print_guests_found(settings.directory)
    run_server(settings)
    print_guests_left(settings.directory)


def diagnose(directory: Path, host: str, *, guests: bool) -> "Diagnosis":
    """Check this machine as `virtshape doctor` does, but without program versions and without the server's port."""
    from virtshape.standalone.doctor.checks import diagnose_machine
    from virtshape.standalone.doctor.facts import gather_facts

    return diagnose_machine(gather_facts(directory, host, None, versions=False, probes=guests), guests=guests)


def print_problems(diagnosis: "Diagnosis") -> None:
    """Print the problems of this machine and the commands that fix them."""
    from virtshape.cli.doctor import print_checks

    if not diagnosis.problems:
        return
    if diagnosis.summary:
        click.echo(diagnosis.summary)
    print_checks(diagnosis.problems)
    click.echo("To fix it:\n" + "\n".join(f"  {fix}" for fix in diagnosis.fixes) + "\n")


def print_guests_found(directory: Path) -> None:
    """Print the guests that an earlier server left running."""
    from virtshape.standalone.guests.stopguests import count_guests, list_running_guests, name_guests

    guests = list_running_guests(directory)
    if guests:
        click.echo(f"Found {count_guests(guests)} running: {name_guests(guests)}")


def print_guests_left(directory: Path) -> None:
    """Print the guests that keep running without a server, and how to stop them."""
    from virtshape.standalone.guests.stopguests import count_guests, list_running_guests, name_guests

    guests = list_running_guests(directory)
    if guests:
        keep = "keeps" if len(guests) == 1 else "keep"
        click.echo(
            f"{count_guests(guests)} {keep} running: {name_guests(guests)}\n"
            f"To stop them: virtshape down --guests{name_flag(directory)}. The next `virtshape up` finds them again."
        )


def run_server(settings: "Settings") -> None:
    """Run the server until a signal stops it; raise CommandError if it cannot start."""
    import uvloop

    from virtshape.apiserver.auth.pki import PkiError
    from virtshape.apiserver.auth.userregistry import UserRegistryError
    from virtshape.standalone.server import ListenError, run
    from virtshape.store.errors import LockedError, StoreError

    flag = name_flag(settings.directory)
    try:
        uvloop.run(run(settings, lambda ready: print_ready(ready, settings.directory)))
    except LockedError as error:
        raise CommandError(
            str(error), next_step=f"Check `virtshape status{flag}`, or stop the server: virtshape down{flag}"
        ) from None
    except (StoreError, PkiError, UserRegistryError) as error:
        raise CommandError(str(error)) from None
    except ListenError as error:
        raise refuse_address(error, settings.host, settings.port) from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise CommandError(f"cannot write to {settings.directory}: {error.strerror or error}") from None


def refuse_address(error: OSError, host: str, port: int) -> CommandError:
    """Return an error that explains why the server cannot listen."""
    number = error.errno
    reason = os.strerror(number) if number is not None and number in errno.errorcode else str(error)
    step = "Choose another address: --listen 127.0.0.1:0 uses a free port."
    return CommandError(f"cannot listen on {host}:{port}: {reason}", next_step=step)


def print_ready(ready: "Ready", directory: Path) -> None:
    """Print the server's address and the next commands."""
    flag = name_flag(directory)
    click.echo(
        f"virtshape is ready at {ready.url} (process {os.getpid()}). In another terminal:\n\n"
        f"  export KUBECONFIG={ready.kubeconfig}\n"
        "  kubectl get vmclusterinstancetypes\n"
        "  kubectl apply -f examples/demo.yaml\n"
        "  kubectl get vm -o wide\n\n"
        "Or in a browser; this link works once, within five minutes:\n\n"
        f"  {ready.console_link}\n\n"
        f"`virtshape open{flag}` creates a new link. "
        f"Ctrl-C or `virtshape down{flag}` stops the server."
    )
    sys.stdout.flush()
