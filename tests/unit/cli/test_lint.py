import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.linting import documents, instancetype, vm

from virtshape.cli import lint
from virtshape.cli.errors import run
from virtshape.cli.progress import Progress
from virtshape.cli.virtshape import virtshape

OLD = vm(run="running: true")
SMALL = "instancetype: {name: u1.small}"
WRONG = vm(spec=SMALL, domain="cpu: {cores: 2}")
NOTED = vm(
    spec="preference:\n  inferFromVolume: root",
    template="volumes: [{name: root, persistentVolumeClaim: {claimName: a}}]",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(virtshape, "virtshape", ["lint", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(f"{name}.yaml").write_text(text)


def test_findings_are_on_stdout_and_the_summary_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=documents(WRONG, OLD.replace("web", "db")))
    status, out, err = call(capsys, "vm.yaml")
    assert status == 1
    assert out.splitlines() == [
        (
            "vm.yaml:11:15: error: VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance "
            "type [instancetype-conflict]"
        ),
        "vm.yaml:19:3: warning: spec.running is deprecated: use spec.runStrategy: Always [deprecated-field]",
    ]
    assert err == "1 error, 1 warning; 2 objects in 1 file checked\n"


def test_clean_files_print_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(), type=instancetype())
    assert call(capsys, ".") == (0, "", "no findings; 2 objects in 2 files checked\n")


STATUSES = {
    "error": (WRONG, [1, 1, 1]),
    "warning": (OLD, [0, 1, 1]),
    "note": (NOTED, [0, 0, 1]),
    "nothing": (vm(), [0, 0, 0]),
}


@pytest.mark.parametrize(("text", "statuses"), STATUSES.values(), ids=STATUSES)
def test_most_severe_finding_sets_the_exit_status(
    text: str, statuses: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    write(vm=text)
    assert [call(capsys, "--fail-on", level, "vm.yaml")[0] for level in lint.LEVELS] == statuses
    assert call(capsys, "vm.yaml")[0] == statuses[1]


def test_unreadable_paths_exit_with_status_2_and_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=WRONG)
    assert call(capsys, "vm.yaml", "gone.yaml", "missing") == (
        2,
        "",
        (
            "error: some paths cannot be read\n"
            "  - gone.yaml: cannot be read: No such file or directory\n"
            "  - missing: cannot be read: No such file or directory\n"
        ),
    )


def test_path_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys)
    assert status == 2
    assert "PATH" in err


def test_catalog_can_be_disabled(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(spec=SMALL, domain=""))
    assert call(capsys, "vm.yaml")[0] == 0
    status, out, _ = call(capsys, "--no-catalog", "vm.yaml")
    assert (status, out.rpartition(" ")[2]) == (1, "[missing-reference]\n")


def test_standard_input_is_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OLD.encode())))
    status, out, _ = call(capsys, "-")
    assert (status, out.partition(" ")[0]) == (1, "<stdin>:6:3:")


def test_every_format_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    printed = {form: call(capsys, "-o", form, "vm.yaml")[1] for form in ("text", "json", "sarif", "github")}
    assert printed["text"].startswith("vm.yaml:6:3: warning: ")
    assert [each["rule"] for each in json.loads(printed["json"])] == ["deprecated-field"]
    assert [each["ruleId"] for each in json.loads(printed["sarif"])["runs"][0]["results"]] == ["deprecated-field"]
    assert printed["github"].startswith("::warning file=vm.yaml,line=6,col=3,title=deprecated-field::")


@pytest.mark.parametrize(
    ("stream", "no_color", "colored"),
    [(Terminal, "", True), (Terminal, "1", False), (io.StringIO, "", False)],
    ids=["a terminal", "a terminal with NO_COLOR", "a pipe"],
)
def test_colour_is_used_on_terminals_without_no_color(
    stream: type[io.StringIO], no_color: str, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(vm=OLD)
    out = stream()
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", out)
    run(virtshape, "virtshape", ["lint", "vm.yaml"])
    assert ("\x1b[33;1mwarning\x1b[0m" in out.getvalue()) == colored


def _progress(monkeypatch: pytest.MonkeyPatch, err: io.StringIO, *times: float) -> str:
    clock = iter(times)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    progress = Progress("files checked")
    for done in range(1, len(times)):
        progress.show(done, 9)
    progress.clear()
    progress.clear()
    return err.getvalue()


def test_progress_is_shown_after_two_seconds_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _progress(monkeypatch, Terminal(), 0.0, 1.9, 2.0, 2.05, 2.2)
    assert shown == "\r\x1b[Kfiles checked: 2 of 9\r\x1b[Kfiles checked: 4 of 9\r\x1b[K"


def test_progress_is_shown_only_on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    err: Any = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    Progress("files checked").show(1, 2)
    assert err.getvalue() == ""


def test_help_lists_the_exit_statuses() -> None:
    result = CliRunner().invoke(lint.command, ["--help"])
    assert "0 no findings, 1 findings, 2 a path cannot be read" in " ".join(result.output.split())
