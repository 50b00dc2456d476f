"""
What a user sees when a command cannot do what it was asked: one line, its causes, a next step, an exit status.

    0 done    1 refused or failed    2 not understood    130 interrupted with Ctrl-C

Never prints a traceback for what a user can put right; a bug of ours still shows one.
"""

from collections.abc import Iterable
from difflib import get_close_matches

import click

REFUSED = 1
NOT_UNDERSTOOD = 2
INTERRUPTED = 130


NEXT_STEPS = {
    "Invalid": "Correct what is named above and try again.",
    "BadRequest": "Correct what is named above and try again.",
    "NotFound": "Check the name, or add the object that it stands for.",
    "Conflict": "Take the current object and make the change again.",
    "Forbidden": "Ask whoever runs the server for the right to do this.",
    "Unauthorized": "Check the user of the kubeconfig: its secret may have ended.",
}


class Refusal(click.ClickException):
    """A command's no: what is wrong, one line per cause, and what to do next."""

    exit_code = REFUSED

    def __init__(self, message: str, causes: Iterable[str] = (), next_step: str | None = None) -> None:
        super().__init__(message)
        self.causes = tuple(causes)
        self.next_step = next_step


class NotUnderstood(Refusal):
    """A no to the command line itself: its flags cannot mean anything."""

    exit_code = NOT_UNDERSTOOD


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` with the known words nearest to this one, or nothing."""
    near = get_close_matches(word, list(known), n=3)
    quoted = " or ".join(f'"{name}"' for name in near)
    return f"; did you mean {quoted}?" if near else ""


def warn(text: str) -> None:
    """Tell the user of something that is allowed and may surprise."""
    click.echo(f"warning: {text}", err=True)


def run(command: click.Command, name: str, words: list[str] | None = None) -> int:
    """Run the command line; the exit status, after the user was told of any error."""
    try:
        status = command.main(args=words, prog_name=name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return report(error)
    except Exception as error:
        refusal = find_refusal(error)
        if refusal is None:
            raise
        return report(refusal)
    return status if isinstance(status, int) else 0


def report(error: click.ClickException) -> int:
    """Print the error for a person; its exit status."""
    lines = [f"error: {describe(error)}"]
    if isinstance(error, Refusal):
        lines += [f"  - {cause}" for cause in error.causes]
        if error.next_step:
            lines.append(error.next_step)
    elif isinstance(error, click.UsageError) and error.ctx is not None:
        lines.append(point_to_help(error.ctx))
    click.echo("\n".join(lines), err=True)
    return error.exit_code


def point_to_help(ctx: click.Context) -> str:
    """Name the help that shows how the command is used."""
    return f"Run '{ctx.command_path} --help' for usage and examples."


def describe(error: click.ClickException) -> str:
    """Say the error in one sentence."""
    if isinstance(error, click.NoSuchOption):
        near = error.possibilities or []
        return f"unknown flag {error.option_name}{suggest(error.option_name, near)}"
    return error.format_message()


def find_refusal(error: Exception) -> Refusal | None:
    """Find the refusal that an error of the layers below stands for; None for a bug."""
    # Imported now, since reading help and completing words need no API.
    from virtshape.api.status import StatusError

    if isinstance(error, StatusError):
        causes = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in error.causes]
        message = error.message
        if all(cause in message for cause in causes):  # the message says it all, in one long line
            message, causes = (f"{len(causes)} problems", causes) if len(causes) > 1 else (message, [])
        elif len(causes) == 1 and causes[0].endswith(message):
            message, causes = causes[0], []
        return Refusal(message, causes, NEXT_STEPS.get(error.reason))
    if isinstance(error, OSError) and error.filename is not None:
        return Refusal(f"cannot open {error.filename}: {error.strerror}")
    return None
