import os
import shutil
import subprocess
import sys

import click
import pytest
from tests.support.commands import call_virtctl

from virtshape.cli import completion
from virtshape.cli.virtshape import virtshape

PROGRAM = "from virtshape.cli.{name} import main; raise SystemExit(main())"


def _complete(line: str) -> list[str]:
    """Return the completions at the end of the line, as the shell script requests them."""
    arguments = line.split(" ")
    environment = {
        **os.environ,
        f"_{arguments[0].upper()}_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(arguments) - 1),
    }
    program = PROGRAM.format(name=arguments[0])
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return [answer.removeprefix("plain,") for answer in ran.stdout.split()]


def _print_help_of_virtshape() -> str:
    context = click.Context(virtshape, info_name="virtshape")
    return completion.command.get_help(click.Context(completion.command, parent=context, info_name="completion"))


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        pytest.param("virtctl crea", ["create"], id="command"),
        pytest.param("virtctl create p", ["preference"], id="nested command"),
        pytest.param("virtctl create vm --volume-s", ["--volume-sysprep"], id="flag"),
        pytest.param(
            "virtctl create vm --run-strategy ",
            ["Always", "Manual", "Halted", "Once", "RerunOnFailure"],
            id="values",
        ),
        pytest.param("virtctl create vm --run-strategy=ma", ["Manual"], id="value after ="),
        pytest.param("virtctl create instancetype --iothreadspolicy s", ["shared"], id="partial value"),
        pytest.param("virtctl completion ", ["bash", "zsh", "fish"], id="argument"),
        pytest.param("virtctl migrate", ["migrate-type"], id="no commands that are not available"),
        pytest.param("virtctl expose ", ["vm", "vmi", "vmirs"], id="kinds to expose"),
        pytest.param("virtctl expose vm web --type L", ["LoadBalancer"], id="types of Services"),
        pytest.param("virtctl credentials a", ["add-ssh-key"], id="command of credentials"),
        pytest.param("virtctl customize fedora --firmware ", ["bios", "efi", "secure-boot"], id="firmware"),
        pytest.param("virtctl customize u1.medium --vcpus ", ["open"], id="open size"),
        pytest.param("virtshape do", ["down", "doctor"], id="command of virtshape"),
        pytest.param("virtshape down --g", ["--guests"], id="flag of virtshape"),
        pytest.param("virtshape matrix -o ", ["table", "csv", "json", "html"], id="formats of the matrix"),
        pytest.param("virtshape matrix --architecture a", ["amd64", "arm64"], id="architectures"),
        pytest.param("virtshape import --to", ["--to", "--to-kubeconfig"], id="targets of an import"),
        pytest.param("virtshape schema kub", ["KubeVirt"], id="kinds with a schema"),
        pytest.param("virtctl expand --for ", ["gitops"], id="purposes of an expansion"),
        pytest.param("virtshape argocd -o ", ["configmap", "application", "helm", "lua"], id="formats for Argo CD"),
        pytest.param("virtshape doctor --output ", ["table", "json", "yaml"], id="values of virtshape"),
    ],
)
def test_shell_completion_offers_commands_flags_and_values(line: str, answers: list[str]) -> None:
    assert _complete(line) == answers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_calls_the_command(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("bash is not installed; the script's version cannot be checked")
    outcome = call_virtctl("completion", shell)
    assert outcome.status == 0
    assert f"_VIRTCTL_COMPLETE={shell}_complete" in outcome.out


def test_help_shows_how_to_load_the_completion_script() -> None:
    assert "source <(virtctl completion bash)" in call_virtctl("completion", "--help").out
    assert "source <(virtshape completion bash)" in _print_help_of_virtshape()


def test_unknown_shell_is_rejected_with_the_supported_ones() -> None:
    outcome = call_virtctl("completion", "tcsh")
    assert outcome.status == 2
    assert "'bash', 'zsh', 'fish'" in outcome.err
