import io
import json
import sys
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner
from tests.support.linting import documents, instancetype, vm

from virtshape.cli import lint
from virtshape.cli.errors import run
from virtshape.cli.progress import Progress
from virtshape.cli.virtshape import virtshape
from virtshape.offline.lint import Level

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


def test_lint_prints_findings_to_stdout_and_the_summary_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=documents(WRONG, OLD.replace("web", "db")))
    status, out, err = call(capsys, "-o", "concise", "vm.yaml")
    assert status == 1
    assert out.splitlines() == [
        (
            "vm.yaml:11:15: error: VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance "
            "type [instancetype-conflict]"
        ),
        "vm.yaml:19:3: warning: spec.running is deprecated: use spec.runStrategy: Always [deprecated-field]",
    ]
    assert err == "1 error, 1 warning; 2 objects in 1 file checked\n"


def test_lint_of_valid_files_prints_only_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(), type=instancetype())
    assert call(capsys, ".") == (0, "", "no findings; 2 objects in 2 files checked\n")


STATUSES = {
    "error": (WRONG, [1, 1, 1]),
    "warning": (OLD, [0, 1, 1]),
    "note": (NOTED, [0, 0, 1]),
    "nothing": (vm(), [0, 0, 0]),
}


def test_fail_on_accepts_the_levels_of_all_rules() -> None:
    assert get_args(Level) == lint.LEVELS


@pytest.mark.parametrize(("text", "statuses"), STATUSES.values(), ids=STATUSES)
def test_exit_status_depends_on_findings_and_the_fail_on_level(
    text: str, statuses: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    write(vm=text)
    assert [call(capsys, "--fail-on", level, "vm.yaml")[0] for level in lint.LEVELS] == statuses
    assert call(capsys, "vm.yaml")[0] == statuses[1]


def test_lint_exits_with_status_2_and_no_findings_for_unreadable_paths(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_lint_requires_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys)
    assert status == 2
    assert "PATH" in err


def test_lint_can_ignore_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(spec=SMALL, domain=""))
    assert call(capsys, "vm.yaml")[0] == 0
    status, out, _ = call(capsys, "--no-catalog", "-o", "concise", "vm.yaml")
    assert (status, out.rpartition(" ")[2]) == (1, "[missing-reference]\n")


def test_lint_checks_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OLD.encode())))
    status, out, _ = call(capsys, "-o", "concise", "-")
    assert (status, out.partition(" ")[0]) == (1, "<stdin>:6:3:")


def test_lint_supports_every_output_format(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    printed = {form: call(capsys, "-o", form, "vm.yaml")[1] for form in ("text", "concise", "json", "sarif", "github")}
    assert printed["text"].startswith("vm.yaml\n  6:3 warning: ")
    assert printed["concise"].startswith("vm.yaml:6:3: warning: ")
    assert [each["rule"] for each in json.loads(printed["json"])] == ["deprecated-field"]
    assert [each["ruleId"] for each in json.loads(printed["sarif"])["runs"][0]["results"]] == ["deprecated-field"]
    assert printed["github"].startswith("::warning file=vm.yaml,line=6,col=3,title=deprecated-field::")


@pytest.mark.parametrize(
    ("stream", "no_color", "colored"),
    [(Terminal, "", True), (Terminal, "1", False), (io.StringIO, "", False)],
    ids=["a terminal", "a terminal with NO_COLOR", "a pipe"],
)
def test_colour_is_used_only_on_terminals_without_no_color(
    stream: type[io.StringIO], no_color: str, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(vm=OLD)
    out = stream()
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", out)
    run(virtshape, "virtshape", ["lint", "vm.yaml"])
    assert ("\x1b[33;1mwarning\x1b[0m" in out.getvalue()) == colored


def test_lint_text_output_shows_the_source_line_and_position(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    assert call(capsys, "vm.yaml")[1] == (
        "vm.yaml\n"
        "  6:3 warning: spec.running is deprecated: use spec.runStrategy: Always [deprecated-field]\n"
        "     6 |   running: true\n"
        "       |   ^^^^^^^\n"
    )


def find_rules(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return [each["rule"] for each in json.loads(call(capsys, "-o", "json", *arguments)[1])]


def test_lint_rules_can_be_selected_or_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=documents(WRONG, OLD.replace("web", "db")))
    both = ["instancetype-conflict", "deprecated-field"]
    assert find_rules(capsys, ".") == both
    assert find_rules(capsys, "--select", "deprecated-*", ".") == both[1:]
    assert find_rules(capsys, "--ignore", "deprecated-field", ".") == both[:1]
    assert find_rules(capsys, "--ignore", "deprecated-field,instancetype-conflict", ".") == []
    assert find_rules(capsys, "--select", "syntax", "--select", "instancetype-conflict", ".") == both[:1]


def test_unknown_lint_rule_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm())
    assert call(capsys, "--ignore", "deprecated-feild", ".") == (
        2,
        "",
        (
            "error: the settings are invalid\n"
            '  - command line: unknown rule "deprecated-feild"; did you mean "deprecated-field"?\n'
        ),
    )


def test_lint_checks_fields_against_the_target_release(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(domain="memory: {guest: 1Gi}\ncpu: {guest: 2}"))
    assert find_rules(capsys, ".") == []
    assert find_rules(capsys, "--target", "kubevirt-1.8", ".") == ["target-field"]
    status, _, err = call(capsys, "--target", "kubevirt-2", ".")
    assert status == 2
    assert 'unknown target "kubevirt-2": must be one of virtshape, kubevirt-1.3,' in err


def test_lint_reads_its_default_settings_file_unless_another_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    Path(".virtshape.yaml").write_text("lint: {fail-on: error, exclude: [gone]}")
    Path("other.toml").write_text("[tool.virtshape.lint]\nignore = ['deprecated-field']\n")
    Path("empty.toml").write_text("")
    assert call(capsys, ".")[0] == 0
    assert call(capsys, "--fail-on", "warning", ".")[0] == 1
    assert find_rules(capsys, "--config", "other.toml", ".") == []
    assert "empty.toml: has no table [tool.virtshape.lint]" in call(capsys, "--config", "empty.toml", ".")[2]
    assert "gone.yaml: cannot be read" in call(capsys, "--config", "gone.yaml", ".")[2]


def test_lint_reports_skipped_files_in_one_note(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm(), values="a: 1\n", chart=vm(name="name: {{ .Release.Name }}"), other="b: {{ c }}\n")
    status, out, err = call(capsys, ".")
    assert (status, out) == (0, "")
    note = "3 files skipped: 1 template, 2 without objects of the checked kinds"
    assert err == f"{note} (-v lists them)\nno findings; 1 object in 1 file checked\n"
    listed = "  ./chart.yaml (template)\n" + "".join(
        f"  ./{name}.yaml (without objects of the checked kinds)\n" for name in ("other", "values")
    )
    assert call(capsys, "-v", ".")[2].startswith(f"{note}\n{listed}")


def test_lint_reports_that_no_files_were_found(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=vm())
    assert call(capsys, "--exclude", "vm.yaml", ".") == (
        0,
        "",
        "warning: no files to check\nno findings; 0 objects in 0 files checked\n",
    )


def test_baseline_hides_known_findings(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    flags = ("--baseline", "known")
    assert call(capsys, *flags, "--update-baseline", ".") == (0, "", "1 finding written to known\n")
    assert call(capsys, *flags, ".") == (0, "", "no findings; 1 object in 1 file checked\n")
    write(vm=WRONG)
    status, _, err = call(capsys, *flags, ".")
    assert status == 1
    assert err.startswith("the baseline contains 1 finding that lint did not find: run with --update-baseline")
    call(capsys, *flags, "--update-baseline", ".")
    assert call(capsys, *flags, ".")[0] == 0


def test_update_of_a_lint_baseline_requires_its_path(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    status, _, err = call(capsys, "--update-baseline", ".")
    assert (status, err.splitlines()[1]) == (2, "  - --update-baseline: requires --baseline FILE")


def read_identity(path: Path) -> tuple[int, int, int]:
    """Return what changes if a file is written or replaced, but not if the file is read."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def test_lint_fix_corrects_files_and_reports_other_findings(capsys: pytest.CaptureFixture[str]) -> None:
    write(a=OLD, b=WRONG.replace("web", "db"), c=vm(name="name: c"))
    untouched = read_identity(Path("c.yaml"))
    status, out, err = call(capsys, "--fix", "-o", "concise", ".")
    assert Path("a.yaml").read_text() == vm()
    assert read_identity(Path("c.yaml")) == untouched
    assert (status, out.split(":")[0]) == (1, "./b.yaml")
    assert err == "1 finding corrected in 1 file\n1 error; 3 objects in 3 files checked\n"


def test_lint_fix_follows_symbolic_links(capsys: pytest.CaptureFixture[str]) -> None:
    Path("real").write_text(OLD)
    Path("vm.yaml").symlink_to("real")
    assert call(capsys, "--fix", "vm.yaml")[0] == 0
    assert Path("vm.yaml").is_symlink()
    assert Path("real").read_text() == vm()


def test_lint_diff_shows_corrections_and_changes_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    write(vm=OLD)
    status, out, err = call(capsys, "--diff", "vm.yaml")
    assert (status, err) == (1, "1 finding in 1 file would be corrected\n")
    assert "-  running: true\n+  runStrategy: Always\n" in out
    assert Path("vm.yaml").read_text() == OLD
    write(vm=vm())
    assert call(capsys, "--fix", "--diff", "vm.yaml") == (0, "", "0 findings in 0 files would be corrected\n")


def test_lint_cannot_correct_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--fix", "-") == (
        2,
        "",
        "error: standard input cannot be corrected: use --diff, or specify files\n",
    )


def test_shell_completion_offers_lint_rules_and_targets() -> None:
    parameters = {parameter.name: parameter for parameter in lint.command.params}
    context = click.Context(lint.command)
    rules = parameters["select"].shell_complete(context, "target-v")
    assert [item.value for item in rules] == ["target-version", "target-value"]
    targets = parameters["target"].shell_complete(context, "kubevirt-1.3")
    assert [item.value for item in targets] == ["kubevirt-1.3"]


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


def test_lint_progress_is_shown_after_two_seconds_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _progress(monkeypatch, Terminal(), 0.0, 1.9, 2.0, 2.05, 2.2)
    assert shown == "\r\x1b[Kfiles checked: 2 of 9\r\x1b[Kfiles checked: 4 of 9\r\x1b[K"


def test_lint_progress_is_shown_only_on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    err: Any = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    Progress("files checked").show(1, 2)
    assert err.getvalue() == ""


def test_lint_help_lists_the_exit_statuses() -> None:
    result = CliRunner().invoke(lint.command, ["--help"])
    assert "0 no findings at the level of --fail-on or above, 1 such findings, 2 a path cannot be read" in " ".join(
        result.output.split()
    )
