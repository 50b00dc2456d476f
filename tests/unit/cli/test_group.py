import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from tests.support.commands import call_virtctl

from virtshape.cli import create, virtctl, virtshape
from virtshape.cli.command import Command
from virtshape.cli.group import LazyGroup

GROUPS = [
    pytest.param(virtctl.virtctl, id="virtctl"),
    pytest.param(virtshape.virtshape, id="virtshape"),
    pytest.param(create.command, id="create"),
]


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_has_at_least_two_examples(group: LazyGroup) -> None:
    for command in [group, *_commands(group)]:
        assert isinstance(command, Command | LazyGroup)
        assert len(command.examples) >= 2, command.name
        assert command.get_help(click.Context(command)).count("\n  # ") >= 2


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_line_flag_has_help(group: LazyGroup) -> None:
    options = [o for command in _commands(group) for o in command.params if isinstance(o, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize(("name", "more"), [("virtctl", ("connection", "overrides", "paramtypes")), ("virtshape", ())])
def test_help_imports_neither_subcommands_nor_the_api(name: str, more: tuple[str, ...]) -> None:
    program = (
        f"import sys; from virtshape.cli.{name} import main; sys.argv = ['{name}', '--help']; main();"
        "print([m for m in sys.modules if m.startswith(('virtshape.', 'msgspec', 'yaml', 'asyncio'))], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([\w.]+)'", ran.stderr))
    assert loaded == {"virtshape.cli"} | {f"virtshape.cli.{m}" for m in (name, "group", "command", "errors", *more)}
    assert "Commands:" in ran.stdout


def test_group_without_a_command_prints_help() -> None:
    outcome = call_virtctl("create")
    assert outcome.status == 0
    assert "instancetype" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(["creat"], 'error: unknown command "creat"; did you mean "create"', id="command"),
        pytest.param(["create", "vmm"], 'error: unknown command "vmm"; did you mean "vm"?', id="nested command"),
        pytest.param(["xyzzy"], 'error: unknown command "xyzzy"', id="no similar command"),
        pytest.param(["create", "vm", "--nam=x"], "error: unknown flag --nam; did you mean", id="flag"),
    ],
)
def test_unknown_command_is_rejected_with_suggestions(arguments: list[str], error: str) -> None:
    outcome = call_virtctl(*arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(error)
    assert "--help' for usage and examples." in outcome.err
