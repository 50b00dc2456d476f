"""virtctl as a kubectl plugin."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.kubectl import find_kubectls

COMMANDS = Path(sys.executable).parent


def call(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {"HOME": "/nonexistent", "PATH": f"{COMMANDS}:{os.environ['PATH']}"}
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def kubectl() -> str:
    found = find_kubectls()
    if not found:
        pytest.skip("kubectl is not installed")
    return str(found[max(found)])


def test_kubectl_finds_the_plugin_and_usage_shows_its_name(kubectl: str) -> None:
    ran = call(kubectl, "virt", "start", "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: kubectl virt start [OPTIONS] NAME\n")
    assert "\n  kubectl virt start web\n" in ran.stdout
    assert "virtctl" not in ran.stdout.partition("Examples:")[2]


def test_kubectl_plugin_output_equals_that_of_virtctl(kubectl: str) -> None:
    arguments = ("create", "vm", "--name", "web", "--instancetype", "u1.small")
    assert call(kubectl, "virt", *arguments).stdout == call(str(COMMANDS / "virtctl"), *arguments).stdout


def test_errors_of_the_kubectl_plugin_refer_to_its_help(kubectl: str) -> None:
    ran = call(kubectl, "virt", "stat")
    assert ran.returncode == 2
    assert ran.stderr.startswith('error: unknown command "stat"; did you mean "start"')
    assert "Run 'kubectl virt --help' for usage and examples." in ran.stderr


COMPLETED = {
    "commands": (["res"], ["restart\tRestart a VM.", "reset\tHard-reset a guest.", ":4"]),
    "values": (["create", "vm", "--run-strategy", "ma"], ["Manual", ":4"]),
    "files": (["image-upload", "pvc", "c1", "--image-path", ""], [":0"]),
    "nothing": (["frobnicate"], [":4"]),
}


@pytest.mark.parametrize(("arguments", "lines"), COMPLETED.values(), ids=COMPLETED)
def test_completions_have_the_format_of_kubectl(arguments: list[str], lines: list[str]) -> None:
    ran = call(str(COMMANDS / "kubectl_complete-virt"), *arguments)
    assert (ran.returncode, ran.stdout.splitlines()) == (0, lines)


def test_kubectl_completes_with_the_plugin(kubectl: str) -> None:
    if max(find_kubectls()) < (1, 26):
        pytest.skip("kubectl completes plugins since 1.26: tools/kubectl/build.sh builds a newer one")
    ran = call(kubectl, "__complete", "virt", "unp")
    assert ran.stdout.splitlines()[:1] == ["unpause\tResume a paused VM."]


def test_completion_script_refers_to_kubectl() -> None:
    ran = call(str(COMMANDS / "kubectl-virt"), "completion", "bash")
    assert ran.returncode == 1
    assert "source <(kubectl completion bash)" in ran.stderr
