"""The archives of `kubectl virt` and the manifest for krew; test_krew.py installs them with krew."""

import hashlib
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.localindex import ARCHITECTURE, run
from tests.support.rendering import find_kubectl
from tools.release.lockedwheels import ARCHITECTURES

RELEASE = version("virtshape")


@pytest.fixture
def manifest(release: Path) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load((release / "virt.yaml").read_text())
    return tree


def list_platforms(manifest: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the Linux platforms of the manifest by architecture."""
    platforms = manifest["spec"]["platforms"]
    assert {each["selector"]["matchLabels"]["os"] for each in platforms} == {"linux"}
    return {each["selector"]["matchLabels"]["arch"]: each for each in platforms}


def test_krew_manifest_follows_the_rules_of_krew(manifest: dict[str, Any]) -> None:
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"] == {"name": "virt"}  # equals the name of the file
    spec = manifest["spec"]
    assert spec["version"] == f"v{RELEASE}"
    assert re.fullmatch(r"[^\r\n]{1,60}", spec["shortDescription"])
    assert spec.keys() == {"version", "shortDescription", "description", "caveats", "platforms"}
    for platform in spec["platforms"]:
        assert platform.keys() == {"selector", "uri", "sha256", "bin"}
        assert platform["selector"].keys() == {"matchLabels"}
        assert platform["selector"]["matchLabels"].keys() == {"os", "arch"}


def test_krew_manifest_has_the_urls_and_checksums_of_the_archives(manifest: dict[str, Any], release: Path) -> None:
    platforms = list_platforms(manifest)
    assert platforms.keys() == ARCHITECTURES.keys()
    for architecture, platform in platforms.items():
        name = f"kubectl-virt-{RELEASE}-linux-{architecture}.tar.gz"
        assert platform["uri"].startswith("https://")
        assert platform["uri"].endswith(f"/v{RELEASE}/{name}")
        assert platform["sha256"] == hashlib.sha256((release / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_archive_has_only_files_and_modules_of_its_architecture(architecture: str, release: Path) -> None:
    with tarfile.open(release / f"kubectl-virt-{RELEASE}-linux-{architecture}.tar.gz") as archive:
        entries = {entry.name: entry for entry in archive}
    assert all(entry.isreg() for entry in entries.values())  # krew refuses links
    assert entries["bin/kubectl-virt"].mode == 0o755
    compiled = {name.rpartition("cpython-")[2] for name in entries if re.search(r"\.cpython-.*\.so$", name)}
    machine = ARCHITECTURES[architecture]
    assert compiled == {f"{python}-{machine}-linux-gnu.so" for python in (311, 312, 313, 314)}


def test_kubectl_runs_the_plugin_through_a_link_as_krew_creates_it(
    manifest: dict[str, Any], release: Path, tmp_path: Path
) -> None:
    platform = list_platforms(manifest)[ARCHITECTURE]
    store, links = tmp_path / "store/virt" / manifest["spec"]["version"], tmp_path / "bin"
    for folder in (store, links):
        folder.mkdir(parents=True)
    run("tar", "-xzf", release / platform["uri"].rpartition("/")[2], "-C", store)
    (links / "kubectl-virt").symlink_to(store / platform["bin"])
    (links / "python3").symlink_to(sys.executable)
    environment = {"PATH": f"{links}:/usr/bin:/bin", "HOME": str(tmp_path)}
    assert f"v{RELEASE}" in run(find_kubectl(), "virt", "version", "--client", env=environment)
    (links / "python3").unlink()
    (links / "python3").symlink_to(make_old_python(tmp_path))
    ran = subprocess.run([links / "kubectl-virt"], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "kubectl virt needs Python 3.11 to 3.14, but python3 is version 3.9\n")


def make_old_python(directory: Path) -> Path:
    """Return a Python that reports version 3.9."""
    (directory / "old").mkdir()
    (directory / "old/sitecustomize.py").write_text("import sys\nsys.version_info = (3, 9, 0)\n")
    path = directory / "old-python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={directory}/old exec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path
