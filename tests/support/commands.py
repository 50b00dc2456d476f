"""Run commands of virtctl and virtshape in this process and capture their output and exit status."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import click
import yaml

from virtshape.cli.errors import run
from virtshape.cli.virtctl import virtctl
from virtshape.cli.virtshape import virtshape


class CommandResult(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def tree(self) -> dict[str, Any]:
        assert self.status == 0, self.err
        tree = yaml.safe_load(self.out)
        assert isinstance(tree, dict)
        return tree

    @property
    def spec(self) -> dict[str, Any]:
        spec = self.tree["spec"]
        assert isinstance(spec, dict)
        return spec

    @property
    def template(self) -> dict[str, Any]:
        template = self.spec["template"]["spec"]
        assert isinstance(template, dict)
        return template


def call_virtctl(*arguments: str) -> CommandResult:
    return _call(virtctl, "virtctl", arguments)


def call_virtshape(*arguments: str) -> CommandResult:
    return _call(virtshape, "virtshape", arguments)


def _call(group: click.Group, name: str, arguments: Sequence[str]) -> CommandResult:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(group, name, list(arguments))
    return CommandResult(status, out.getvalue(), err.getvalue())
