"""The sdist and the wheel: their files, and virtshape installed from a local index with each supported Python."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.support.debianroot import DebianRoot, require_namespaces
from tests.support.documents import ROOT
from tests.support.localindex import UV, LocalIndex, run
from tests.support.upprocess import System, wait_until
from tools.release.debianroots import TESTING, make_layers
from tools.release.lockedwheels import PYTHONS

from virtshape.cluster.manifests.build import build_manifests
from virtshape.cluster.manifests.options import Options

RELEASE = version("virtshape")
DEBIAN_PYTHON = "3.14"
"""The Python release of the next Debian release; the test runs it in a root file system of that release."""


def list_sources() -> set[str]:
    """Return the files of the package that git does not ignore, relative to src."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "src", cwd=ROOT).splitlines()
    return {path.removeprefix("src/") for path in listed if (ROOT / path).is_file()}


def test_wheel_built_from_the_sdist_has_every_source_and_data_file(index: LocalIndex) -> None:
    with ZipFile(index.directory / f"virtshape-{RELEASE}-py3-none-any.whl") as wheel:
        contained = {name for name in wheel.namelist() if not name.startswith(f"virtshape-{RELEASE}.dist-info/")}
    assert contained == list_sources()
    assert {"virtshape/web/static/index.html", "virtshape/offline/argocdhealth.lua"} <= contained


def test_sdist_has_only_files_for_the_wheel_and_project_documents(index: LocalIndex) -> None:
    with tarfile.open(index.directory / f"virtshape-{RELEASE}.tar.gz") as sdist:
        contained = {name.partition("/")[2] for name in sdist.getnames()}
    documents = {"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"}
    assert (
        contained - {"PKG-INFO", ".gitignore", "pyproject.toml"}
        == {f"src/{path}" for path in list_sources()} | documents
    )


def test_classifiers_list_exactly_the_tested_python_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    prefix = "Programming Language :: Python :: "
    assert [each.removeprefix(prefix) for each in project["classifiers"] if each.startswith(prefix)] == list(PYTHONS)


def find_python(release: str) -> Path:
    """Return the path of a Python of this release, from PATH or from pyenv."""
    on_path = shutil.which(f"python{release}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(f"{release}.*/bin/python{release}"))]
    for path in candidates:  # a pyenv shim on PATH may fail
        if subprocess.run([path, "-c", "import ssl"], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip(f"Python {release} is missing: install it, for example with pyenv")


@pytest.mark.parametrize("release", [each for each in PYTHONS if each != DEBIAN_PYTHON])
def test_wheel_runs_commands_and_a_server(index: LocalIndex, release: str, tmp_path: Path) -> None:
    environment = index.make_environment(tmp_path)
    run(UV, "venv", "--quiet", "--python", find_python(release), tmp_path / "venv", env=environment)
    commands = tmp_path / "venv/bin"
    run(UV, "pip", "install", "--quiet", "--python", commands / "python", "virtshape", env=environment)
    assert f"virtshape {RELEASE} (Python {release}." in run(commands / "python", "-m", "virtshape", "version")
    run(commands / "virtshape", "lint", ROOT / "examples/web.yaml")
    with System(tmp_path / "data", "--launcher=simulate", command=commands / "virtshape") as system:
        status, shown = system.request("GET", "/version")
        assert (status, shown["gitVersion"].partition("+")[2]) == (200, f"virtshape-{RELEASE}")
        assert shown["goVersion"].startswith(f"python{release}.")


def test_wheel_runs_commands_and_a_server_with_the_python_of_the_next_debian_release(
    index: LocalIndex, tmp_path: Path
) -> None:
    require_namespaces()
    packed = tmp_path / "index.tar"
    run("tar", "--dereference", "-cf", packed, "-C", index.directory, ".")
    with DebianRoot(make_layers(TESTING), tmp_path / "machine") as machine:
        machine.run("mkdir /root/index")
        machine.copy_in(packed, "/root/index.tar")
        machine.copy_in(UV, "/usr/local/bin/uv")
        machine.copy_in(ROOT / "examples/web.yaml", "/root/web.yaml")
        machine.run("chmod 755 /usr/local/bin/uv; tar -xf /root/index.tar -C /root/index")
        options = "--quiet --offline --no-config --no-index --find-links /root/index"
        machine.run(f"uv venv {options} --python /usr/bin/python3 venv; uv pip install {options} -p venv virtshape")
        assert f"virtshape {RELEASE} (Python {DEBIAN_PYTHON}." in machine.run("venv/bin/virtshape version")
        machine.run("venv/bin/virtshape lint web.yaml")
        server = machine.start("exec venv/bin/virtshape up --data-dir data --launcher=simulate >up.log 2>&1")
        status = "venv/bin/virtshape status --data-dir data"
        wait_until(lambda: machine.succeeds(f"{status} | grep -q healthy"), lambda: machine.run("cat up.log"))
        machine.run("venv/bin/virtshape down --data-dir data")
        server.communicate()
        assert server.returncode == 0


def test_version_is_the_same_in_commands_metrics_and_manifests(tmp_path: Path) -> None:
    client = json.loads(run(sys.executable, "-m", "virtshape", "version", "-o", "json"))
    assert client["clientVersion"]["version"] == RELEASE
    with System(tmp_path / "data") as system:
        assert system.request("GET", "/version")[1]["gitVersion"].endswith(f"+virtshape-{RELEASE}")
        with closing(system.connect()) as connection:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {system.config['token']}"})
            metrics = connection.getresponse().read().decode()
    assert re.findall(r'^virtshape_build_info{.*version="(.+)"} 1\.0$', metrics, re.MULTILINE) == [RELEASE]
    labelled = [tree["metadata"]["labels"] for tree in build_manifests(Options())]
    assert {labels["app.kubernetes.io/version"] for labels in labelled} == {RELEASE}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == RELEASE
