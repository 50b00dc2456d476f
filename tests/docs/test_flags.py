"""The flag tables in docs/server.md and docs/cluster.md list all flags of the commands, with their defaults."""

import re
from collections.abc import Iterator

import click
import pytest
from tests.support.documents import ROOT

from virtshape.cli.manifests import command as manifests
from virtshape.cli.up import command as up

TABLES = {"docs/server.md": up, "docs/cluster.md": manifests}
_FLAG = re.compile(r"`(--[a-z-]+)[^`]*`")
COMPUTED = ("--data-dir", "--image", "--launcher-image")
"""Flags whose default is computed when the command runs."""


def read_rows(document: str) -> Iterator[tuple[list[str], str]]:
    """Yield the flags and the default in each row of a document's flag table."""
    for line in (ROOT / document).read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`--"):
            yield _FLAG.findall(cells[0]), cells[1]


def list_flags(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by each of their long flags."""
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    return {flag: each for each in options for flag in (*each.opts, *each.secondary_opts) if flag.startswith("--")}


def show_default(option: click.Option) -> str:
    """Return a default as the tables show it."""
    default = option.default
    if isinstance(default, bool):
        return "on" if default else "off"
    return str(default)


@pytest.mark.parametrize(("document", "command"), TABLES.items(), ids=TABLES)
def test_flag_table_lists_exactly_the_flags_of_the_command(document: str, command: click.Command) -> None:
    listed = [flag for flags, _ in read_rows(document) for flag in flags]
    assert sorted(listed) == sorted(flag for flag in list_flags(command) if flag != "--help")


@pytest.mark.parametrize(("document", "command"), TABLES.items(), ids=TABLES)
def test_flag_table_has_the_defaults_of_the_command(document: str, command: click.Command) -> None:
    options = list_flags(command)
    for flags, cell in read_rows(document):
        primary = list(dict.fromkeys(options[flag].opts[-1] for flag in flags))
        if primary[0] not in COMPUTED:
            assert cell.replace("`", "") == ", ".join(show_default(options[flag]) for flag in primary), flags
