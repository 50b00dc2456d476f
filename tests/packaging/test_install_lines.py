"""
The commands in the README's table "Install", run as they are written in an empty environment with a local index.

test_debian_package.py runs the line that needs a Debian machine. test_helm.py and test_manifests.py in tests/cluster
run the lines that need a cluster.
"""

import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.documents import ROOT
from tests.support.localindex import ARCHITECTURE, COMMANDS, LocalIndex, run
from tests.support.releases import find_install_line, list_install_lines
from tests.support.skipping import IMPOSSIBLE

from virtshape.launcher.node.requirements import find_missing_packages

RELEASE = version("virtshape")


class Shell:
    """A user with an empty home directory, pipx, uv, and a folder of manifests as current directory."""

    def __init__(self, index: LocalIndex, home: Path) -> None:
        self.home = home
        self.environment = index.make_environment(home)
        self.folder = home / "manifests"
        self.folder.mkdir()
        (self.folder / "vm.yaml").write_text((ROOT / "examples/web.yaml").read_text())
        (home / "bin").mkdir()
        for name in ("pipx", "uv", "uvx"):
            (home / "bin" / name).symlink_to(COMMANDS / name)

    def __call__(self, line: str) -> str:
        return run("bash", "-ec", line, env=self.environment, cwd=self.folder)


def check_commands(shell: Shell, shown: str) -> None:
    assert f"installed package virtshape {RELEASE}" in shown
    assert shell("virtshape version").startswith(f"virtshape {RELEASE} ")
    assert shell("virtctl expand -f vm.yaml -o json").startswith("{")
    assert f"v{RELEASE}" in shell("kubectl-virt version --client")


def check_guests(shell: Shell, shown: str) -> None:
    check_commands(shell, shown)
    python = shell.home / ".local/share/pipx/venvs/virtshape/bin/python"
    assert run(python, "-c", "import libvirt; print(libvirt.getVersion() > 0)") == "True\n"


def check_lint(shell: Shell, shown: str) -> None:
    assert shown == ""  # the manifest has no problems
    (shell.folder / "vm.yaml").write_text((ROOT / "examples/broken/vm.yaml").read_text())
    assert "unknown-field" in shell("uvx virtshape lint . || test $? = 1")


def check_annotations(shell: Shell, shown: str) -> None:
    assert shown == ""
    (shell.folder / "vm.yaml").write_text((ROOT / "examples/broken/vm.yaml").read_text())
    assert "::error file=vm.yaml,line=" in shell("uvx virtshape lint -o github . || test $? = 1")


def check_schema(shell: Shell, shown: str) -> None:
    assert shown == ""
    assert json.loads((shell.folder / "virtshape.schema.json").read_text())["type"] == "object"


CHECKS: dict[str, Callable[[Shell, str], None]] = {
    "pipx install virtshape": check_commands,
    "uvx virtshape lint .": check_lint,
    "pipx install 'virtshape[guests]'": check_guests,
    "uvx virtshape lint -o github .": check_annotations,
    "uvx virtshape schema > virtshape.schema.json": check_schema,
}
"""The check to run after each command of the table."""


def test_every_install_line_of_the_readme_is_run_by_a_test() -> None:
    elsewhere = [find_install_line(start) for start in ("apt ", "mkdir ", "helm ", "kubectl ")]
    assert sorted(list_install_lines()) == sorted([*CHECKS, *elsewhere])


@pytest.mark.parametrize("line", CHECKS)
def test_install_line_works_in_an_empty_environment(line: str, index: LocalIndex, tmp_path: Path) -> None:
    if "guests" in line and (missing := find_missing_packages()):
        pytest.skip(f"libvirt's Python binding cannot be built: install {', '.join(missing)}")
    shell = Shell(index, tmp_path)
    CHECKS[line](shell, shell(line))


def test_install_line_of_the_plugin_needs_only_python_and_kubectl(
    release: Path, index: LocalIndex, tmp_path: Path
) -> None:
    if ARCHITECTURE != "amd64":
        pytest.skip(f"{IMPOSSIBLE}the line names the archive for amd64")
    shell = Shell(index, tmp_path)
    shutil.copy(release / f"kubectl-virt-{RELEASE}-linux-amd64.tar.gz", shell.folder)
    shell(find_install_line("mkdir "))
    assert f"v{RELEASE}" in shell("kubectl virt version --client")
    assert shell("kubectl virt expand -f vm.yaml -o json").startswith("{")
    assert "expand\t" in shell("kubectl_complete-virt exp")
