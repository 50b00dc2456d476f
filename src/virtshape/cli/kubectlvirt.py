"""`kubectl virt`: virtctl as a kubectl plugin, with completion."""

import sys
from typing import Final

import click
from click.shell_completion import CompletionItem, ShellComplete

from virtshape.cli.errors import run
from virtshape.cli.virtctl import virtctl

NAME: Final = "kubectl virt"
_NO_FILES: Final = 4
_FILES: Final = 0
"""Completion directives: whether kubectl also completes file names."""


def main() -> int:
    """Run the command line of this process: `kubectl virt ...` starts `kubectl-virt ...`."""
    return run(virtctl, NAME)


def complete() -> int:
    """Print completions in kubectl's format, for `kubectl_complete-virt ...`."""
    *args, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(virtctl, {}, NAME, "").get_completions(args, incomplete)
    for item in found:
        if item.type == "plain":
            click.echo(_describe(item))
    click.echo(f":{_FILES if any(item.type != 'plain' for item in found) else _NO_FILES}")
    return 0


def _describe(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
