"""Commands of KubeVirt's virtctl that are not available and report what they would need."""

import re
import subprocess

import click
import pytest
from tests.support.commands import call_virtctl
from tests.support.kubevirt import find_program

from virtshape.cli import virtctl

NAMES = [name for name, entry in virtctl.ENTRIES.items() if entry.section == virtctl.UNAVAILABLE]


@pytest.mark.parametrize("name", NAMES)
def test_unavailable_command_reports_what_it_needs(name: str) -> None:
    refused = call_virtctl(name, "web", "--dry-run", "-n", "shop", "--vm=web")
    assert (refused.status, refused.out) == (3, "")
    assert refused.err.startswith(f"error: virtctl {name} is not available: it needs ")
    assert refused.err.endswith("On a cluster that runs KubeVirt, use KubeVirt's own virtctl.\n")


@pytest.mark.parametrize("name", NAMES)
def test_unavailable_command_has_help_but_no_shell_completion(name: str) -> None:
    shown = call_virtctl(name, "--help")
    assert shown.status == 0
    assert "Not available. In KubeVirt: " in shown.out
    command = virtctl.virtctl.get_command(click.Context(virtctl.virtctl), name)
    assert command is not None
    assert command.hidden


def test_unavailable_nested_command_is_reported() -> None:
    refused = call_virtctl("create", "clone", "--source-name", "web")
    assert (refused.status, refused.err.split(":")[1]) == (3, " virtctl create clone is not available")
    assert call_virtctl("create", "--help").out.index("Not available") < call_virtctl("create", "--help").out.index(
        "clone "
    )


def test_unavailable_commands_are_a_section_of_the_help() -> None:
    available, section, unavailable = call_virtctl("--help").out.partition("that are not available")
    assert section
    assert [name for name in NAMES if f"\n  {name} " in unavailable] == NAMES
    assert [name for name in NAMES if f"\n  {name} " in available] == []


def test_every_command_of_kubevirts_virtctl_exists() -> None:
    shown = subprocess.run([find_program("virtctl"), "--help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  ([a-z-]+) +\S", shown.partition("Available Commands:")[2], re.MULTILINE))
    assert "migrate" in listed
    assert listed - set(virtctl.ENTRIES) == {"help"}
