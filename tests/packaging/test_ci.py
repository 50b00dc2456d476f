"""
The integrations for CI: pre-commit hooks, the GitHub Action and the GitLab template.

The shell steps of the action and of the template run as their runners run them. Steps that use other actions are not
run.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.documents import ROOT
from tests.support.localindex import COMMANDS, LocalIndex, run

GOOD, BROKEN = ROOT / "examples/web.yaml", ROOT / "examples/broken/vm.yaml"


def copy_manifest(source: Path, folder: Path) -> None:
    (folder / "vm.yaml").write_text(source.read_text())


@pytest.fixture
def environment(index: LocalIndex, tmp_path: Path) -> dict[str, str]:
    """An empty environment in which `python3` and `pip` are those of a new virtual environment."""
    (tmp_path / "home").mkdir()
    environment = index.make_environment(tmp_path / "home")
    run(sys.executable, "-m", "virtualenv", "--quiet", tmp_path / "python", env=environment)
    return environment | {"PATH": f"{tmp_path / 'python/bin'}:/usr/bin:/bin"}


@pytest.fixture
def repository(environment: dict[str, str], tmp_path: Path) -> Path:
    """A git repository with one manifest."""
    folder = tmp_path / "repository"
    folder.mkdir()
    copy_manifest(GOOD, folder)
    for line in ("git init --quiet", "git add vm.yaml"):
        run(*line.split(), cwd=folder, env=environment)
    return folder


def test_pre_commit_runs_the_hooks(environment: dict[str, str], repository: Path) -> None:
    def try_hooks() -> subprocess.CompletedProcess[str]:
        run("git", "add", "vm.yaml", cwd=repository, env=environment)
        command = [str(COMMANDS / "pre-commit"), "try-repo", str(ROOT), "--all-files", "--verbose"]
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)

    passed = try_hooks()
    assert (passed.returncode, passed.stdout.count("Passed")) == (0, 2), passed.stdout + passed.stderr
    copy_manifest(BROKEN, repository)
    failed = try_hooks()
    assert (failed.returncode, failed.stdout.count("Failed")) == (1, 2), failed.stdout
    assert "[missing-reference]" in failed.stdout  # lint --fix cannot correct it
    assert "buss" not in (repository / "vm.yaml").read_text()


class Action:
    """action.yml, run as a runner of GitHub runs its shell steps."""

    def __init__(self, environment: Mapping[str, str], folder: Path, repository: Path) -> None:
        self.tree: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
        self.repository = repository
        self.output = folder / "output"
        self.environment = {
            **environment,
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(self.output),
            "RUNNER_TEMP": str(folder),
        }

    def __call__(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the shell steps in order until one fails, and return the result of the last one."""
        values = {f"inputs.{name}": each["default"] for name, each in self.tree["inputs"].items()}
        values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        for step in self._list_shell_steps():
            given = {name: self._fill_in(text, values) for name, text in step.get("env", {}).items()}
            ran = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],  # noqa: S607 - as GitHub does
                cwd=self.repository,
                env=self.environment | given,
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode:
                break
        return ran

    def _list_shell_steps(self) -> Iterator[dict[str, Any]]:
        for step in self.tree["runs"]["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert "${{" not in step.get("run", ""), "values reach scripts through the environment, not as text"
            if "run" in step:
                yield step

    def _fill_in(self, text: str, values: Mapping[str, str]) -> str:
        outputs = dict(line.split("=", 1) for line in self.output.read_text().split()) if self.output.exists() else {}
        known = {**values, **{f"steps.lint.outputs.{name}": value for name, value in outputs.items()}}
        return re.sub(r"\$\{\{ (.+?) }}", lambda found: known[found[1]], text)


def test_github_action_writes_sarif_and_fails_for_findings(
    environment: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    act = Action(environment, tmp_path, repository)
    assert act().returncode == 0
    written = json.loads((repository / "virtshape.sarif").read_text())
    assert written["runs"][0]["tool"]["driver"]["semanticVersion"] == version("virtshape")
    assert written["runs"][0]["results"] == []
    copy_manifest(BROKEN, repository)
    assert act(sarif_file="found.sarif", path="vm.yaml").returncode == 1
    found = json.loads((repository / "found.sarif").read_text())["runs"][0]["results"]
    assert "unknown-field" in {each["ruleId"] for each in found}


def test_gitlab_template_writes_sarif_and_fails_for_findings(environment: dict[str, str], repository: Path) -> None:
    header, jobs = yaml.safe_load_all((ROOT / "ci/gitlab-lint.yml").read_text())
    defaults = {name: each["default"] for name, each in header["spec"]["inputs"].items()}
    job = jobs["virtshape-lint"]
    variables = {
        name: re.sub(r"\$\[\[ inputs\.(.+?) ]]", lambda found: defaults[found[1]], text)
        for name, text in job["variables"].items()
    }

    def run_lines(part: str) -> int:
        script = "\n".join(job[part])
        ran = subprocess.run(["sh", "-ec", script], cwd=repository, env=environment | variables, check=False)  # noqa: S607
        return ran.returncode

    assert [run_lines("script"), run_lines("after_script")] == [0, 0]
    copy_manifest(BROKEN, repository)
    assert [run_lines("script"), run_lines("after_script")] == [1, 0]
    found = json.loads((repository / job["artifacts"]["paths"][0]).read_text())["runs"][0]["results"]
    assert "unknown-field" in {each["ruleId"] for each in found}
