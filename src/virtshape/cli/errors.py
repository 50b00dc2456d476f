"""
Command errors: a message, its causes, a next step and an exit status.

    0 success    1 failure    2 invalid command line    3 not available    130 interrupted with Ctrl-C

Only bugs print a traceback.
"""

from collections.abc import Iterable

import click

FAILURE = 1
USAGE_ERROR = 2
UNAVAILABLE = 3
INTERRUPTED = 130


NEXT_STEPS = {
    "Invalid": "Correct the fields above and try again.",
    "BadRequest": "Correct the fields above and try again.",
    "NotFound": "Check the name, or create the object.",
    "Conflict": "Get the current object and apply the change again.",
    "Forbidden": "Ask an administrator for permission.",
    "Unauthorized": "Check the user in the kubeconfig: its credentials may have expired.",
}


class CommandError(click.ClickException):
    """A command failed: the message, one line per cause, and the next step."""

    exit_code = FAILURE

    def __init__(self, message: str, causes: Iterable[str] = (), next_step: str | None = None) -> None:
        super().__init__(message)
        self.causes = tuple(causes)
        self.next_step = next_step


class ArgumentError(CommandError):
    """The arguments or flags are invalid."""

    exit_code = USAGE_ERROR


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` with similar known names, or an empty string."""
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    quoted = " or ".join(f'"{each}"' for each in near)
    return f"; did you mean {quoted}?" if near else ""


def warn(text: str) -> None:
    """Print a warning to standard error."""
    click.echo(f"warning: {text}", err=True)


def run(command: click.Command, name: str, args: list[str] | None = None) -> int:
    """Run a command line, report errors and return the exit status."""
    try:
        status = command.main(args=args, prog_name=name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return report(error)
    except Exception as error:
        converted = convert_error(error)
        if converted is None:
            raise
        return report(converted)
    return status if isinstance(status, int) else 0


def report(error: click.ClickException) -> int:
    """Print an error and return its exit status."""
    lines = [f"error: {describe(error)}"]
    if isinstance(error, CommandError):
        lines += [f"  - {cause}" for cause in error.causes]
        if error.next_step:
            lines.append(error.next_step)
    elif isinstance(error, click.UsageError) and error.ctx is not None:
        lines.append(format_help_hint(error.ctx))
    click.echo("\n".join(lines), err=True)
    return error.exit_code


def format_help_hint(ctx: click.Context) -> str:
    """Return the line that points to the command's help."""
    return f"Run '{ctx.command_path} --help' for usage and examples."


def describe(error: click.ClickException) -> str:
    """Return the error message."""
    if isinstance(error, click.NoSuchOption):
        near = error.possibilities or []
        return f"unknown flag {error.option_name}{suggest(error.option_name, near)}"
    return error.format_message()


def convert_error(error: Exception) -> CommandError | None:
    """Convert an error from a lower layer to a CommandError; return None for any other error, which is a bug."""
    # Imported here to keep `--help` fast.
    from virtshape.api.status import StatusError

    if isinstance(error, StatusError):
        causes = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in error.causes]
        message = error.message
        if all(cause in message for cause in causes):  # the message already contains all causes
            message, causes = (f"{len(causes)} problems", causes) if len(causes) > 1 else (message, [])
        elif len(causes) == 1 and causes[0].endswith(message):
            message, causes = causes[0], []
        return CommandError(message, causes, NEXT_STEPS.get(error.reason))
    if isinstance(error, OSError) and error.filename is not None:
        return CommandError(f"cannot open {error.filename}: {error.strerror}")
    return None
