import os
import subprocess
import sys

import click
import pytest

from virtshape.api.fielderror import FieldError
from virtshape.api.problems import DecodeError, build_problem
from virtshape.api.status import StatusError
from virtshape.cli.errors import ArgumentError, CommandError, run, warn

CAUSES = [FieldError("spec.a", "too large"), FieldError("spec.b", "too small")]
PROBLEMS = [
    build_problem("spec.a", "too large", "invalid-value"),
    build_problem("spec.b", "too small", "invalid-value"),
]


def _command(error: BaseException | None) -> click.Command:
    @click.command()
    def fail() -> None:
        if error is not None:
            raise error

    return fail


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        pytest.param(None, 0, "", id="success"),
        pytest.param(CommandError("no"), 1, "error: no\n", id="refused"),
        pytest.param(
            CommandError("no", ["one", "two"], "Do three."), 1, "error: no\n  - one\n  - two\nDo three.\n", id="causes"
        ),
        pytest.param(ArgumentError("what?"), 2, "error: what?\n", id="parse error"),
        pytest.param(
            click.UsageError("what?"),
            2,
            "error: what?\nRun 'virtctl --help' for usage and examples.\n",
            id="usage",
        ),
        pytest.param(
            StatusError(422, "Invalid", "conflict", CAUSES),
            1,
            "error: conflict\n  - spec.a: too large\n  - spec.b: too small\nCorrect the fields above and try again.\n",
            id="status with causes",
        ),
        pytest.param(
            StatusError(500, "InternalError", "spec.a: too large", CAUSES[:1]),
            1,
            "error: spec.a: too large\n",
            id="status with one cause",
        ),
        pytest.param(
            DecodeError(PROBLEMS),
            1,
            "error: 2 problems\n  - spec.a: too large\n  - spec.b: too small\n"
            "Correct the fields above and try again.\n",
            id="decoding",
        ),
        pytest.param(
            FileNotFoundError(2, "No such file or directory", "vm.yaml"),
            1,
            "error: cannot open vm.yaml: No such file or directory\n",
            id="file",
        ),
        pytest.param(KeyboardInterrupt(), 130, "\n", id="Ctrl-C"),
    ],
)
def test_command_error_is_printed_and_sets_the_exit_status(
    error: BaseException | None, status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_command(error), "virtctl", []) == status
    assert capsys.readouterr() == ("", text)


def test_unexpected_exception_is_not_caught() -> None:
    with pytest.raises(ZeroDivisionError):
        run(_command(ZeroDivisionError()), "virtctl", [])


def test_exit_status_set_by_a_command_is_returned() -> None:
    @click.command()
    @click.pass_context
    def leave(ctx: click.Context) -> None:
        ctx.exit(7)

    assert run(leave, "virtctl", []) == 7


def test_warning_is_printed_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    warn("mind the gap")
    assert capsys.readouterr() == ("", "warning: mind the gap\n")


def test_closed_standard_output_does_not_print_an_error() -> None:
    program = "from virtshape.cli.virtctl import main; raise SystemExit(main())"
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", program, "version"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert ran.stderr == ""
    assert ran.returncode == 1
