"""`make release`: its files, the reasons to refuse a release, and the version, which only pyproject.toml defines."""

import json
import re
import subprocess
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from tests.support.documents import ROOT
from tests.support.localindex import run
from tests.support.releases import Tree
from tests.support.rendering import find_helm
from tools.images import build as images
from tools.release.archives import write_archive
from tools.release.build import Release
from tools.release.version import REPEATED, VersionError, compile_pattern, cut_changelog, find_notes

RELEASE = version("virtshape")
FILES = {
    "RELEASE_NOTES.md",
    "SHA256SUMS",
    "virt.yaml",
    f"kubectl-virt-{RELEASE}-linux-amd64.tar.gz",
    f"kubectl-virt-{RELEASE}-linux-arm64.tar.gz",
    f"virtshape-{RELEASE}-py3-none-any.whl",
    f"virtshape-{RELEASE}.sbom.json",
    f"virtshape-{RELEASE}.schema.json",
    f"virtshape-{RELEASE}.tar.gz",
    f"virtshape-{RELEASE}.tgz",
    f"virtshape-manifests-{RELEASE}.yaml",
    f"virtshape_{RELEASE}_amd64.deb",
}
ELSEWHERE = re.compile(r"CHANGELOG\.md|(.*/)?(go\.(mod|sum)|uv\.lock)|deploy/(helm|kustomize)/.*")
"""Files that contain versions of dependencies or past releases, and generated files, which tests/deploy checks."""
NEXT = "97.98.99"
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 5.1.0 - 2026-01-01\n\n- Old.\n"


def test_release_has_all_files_and_their_checksums(release: Path) -> None:
    assert {path.name for path in release.iterdir()} == FILES
    checked = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release).splitlines()
    assert {line.removesuffix(": OK") for line in checked} == FILES - {"SHA256SUMS"}


def test_release_notes_are_the_section_of_the_changelog(release: Path) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    section = changelog.partition("## Unreleased\n")[2].partition("\n## ")[0].strip() + "\n"
    assert (release / "RELEASE_NOTES.md").read_text() == section


def test_manifests_schema_and_sbom_are_those_of_the_version(release: Path) -> None:
    manifests = [*yaml.load_all((release / f"virtshape-manifests-{RELEASE}.yaml").read_text(), yaml.CSafeLoader)]
    assert {tree["metadata"]["labels"]["app.kubernetes.io/version"] for tree in manifests} == {RELEASE}
    schema = json.loads((release / f"virtshape-{RELEASE}.schema.json").read_text())
    assert "io.kubevirt.v1.DomainSpec" in schema["definitions"]
    sbom = json.loads((release / f"virtshape-{RELEASE}.sbom.json").read_text())
    assert {"click", "msgspec", "libvirt-python"} <= {each["name"] for each in sbom["components"]}


def test_packaged_chart_is_accepted_by_helm_and_has_its_readme(release: Path) -> None:
    chart = release / f"virtshape-{RELEASE}.tgz"
    assert yaml.safe_load(run(find_helm(), "show", "chart", chart))["version"] == RELEASE
    readme = (ROOT / "deploy/helm/virtshape/README.md").read_text()
    assert run(find_helm(), "show", "readme", chart).strip() == readme.strip()
    assert "0 chart(s) failed" in run(find_helm(), "lint", "--strict", chart)


def test_release_archive_is_reproducible(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir(mode=0o700 if name == "a" else 0o755)
        for file in sorted(("x", "y"), reverse=name == "a"):
            (folder / file).write_text(file)
        write_archive(folder, tmp_path / f"{name}.tgz", 1_700_000_000, "top/")
    assert (tmp_path / "a.tgz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    with tarfile.open(tmp_path / "a.tgz") as archive:
        assert [(entry.name, entry.mtime, entry.uid) for entry in archive] == [
            ("top/x", 1_700_000_000, 0),
            ("top/y", 1_700_000_000, 0),
        ]


def test_release_without_images_prints_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(images, "find_missing", lambda: "zstd not installed")
    Release(RELEASE, tmp_path, tmp_path, 0).build_images()
    assert capsys.readouterr().out == "The images are left out: zstd not installed.\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of the tree in which the change to the next version is committed."""
    made = Tree(tmp_path_factory.mktemp("release") / "tree")
    made.set_version(NEXT)
    return made


def refuse(tree: Tree, version: str) -> str:
    """Build a release, which must be refused, and return the error message."""
    ran = tree.call("tools.release.build", version, "--no-images", "--output", tree.directory.parent / "files")
    assert ran.returncode == 1
    assert not (tree.directory.parent / "files").exists()
    return ran.stderr


def test_release_of_another_version_is_refused(tree: Tree) -> None:
    message = f"Nothing was built: the version in pyproject.toml is {NEXT}, not 1.2.3. Run `make set-version"
    assert refuse(tree, "1.2.3").startswith(message)


def test_release_with_uncommitted_changes_is_refused(tree: Tree) -> None:
    new = tree.directory / "new.txt"
    new.write_text("")
    assert refuse(tree, NEXT) == "Nothing was built: the tree has changes that are not committed:\n?? new.txt\n"
    new.unlink()


def test_release_without_a_section_in_the_changelog_is_refused(tmp_path: Path) -> None:
    message = f"Nothing was built: CHANGELOG.md has no section for {RELEASE}. Run `make set-version VERSION={RELEASE}`"
    assert refuse(Tree(tmp_path / "tree"), RELEASE).startswith(message)


def find_version(version: str, directory: Path) -> set[str]:
    """Return the names of files that contain a version, except the files in ELSEWHERE."""
    pattern = compile_pattern(version)
    command = ["git", "grep", "-lIF", "--untracked", version]
    found = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout.split()
    return {name for name in found if not ELSEWHERE.fullmatch(name) and pattern.search((directory / name).read_text())}


def test_only_pyproject_defines_the_version_and_set_version_changes_all_files_that_repeat_it(tree: Tree) -> None:
    assert find_version(RELEASE, ROOT) == {"pyproject.toml", *REPEATED}
    assert find_version(NEXT, tree.directory) - {"tests/packaging/test_release.py"} == {"pyproject.toml", *REPEATED}
    assert tomllib.loads((tree.directory / "pyproject.toml").read_text())["project"]["version"] == NEXT
    locked = tomllib.loads((tree.directory / "uv.lock").read_text())["package"]
    assert [each["version"] for each in locked if each["name"] == "virtshape"] == [NEXT]
    changed = run("git", "show", "--stat=200", "--format=", cwd=tree.directory)
    assert all(name in changed for name in ("CHANGELOG.md", *REPEATED))


@pytest.mark.parametrize(
    ("text", "found"),
    [("v5.1.0", True), ("a-5.1.0.tgz", True), ("5.1.0.", True), ("15.1.0.0/16", False), ("5.1.0.1", False)],
)
def test_version_is_not_found_in_longer_numbers(text: str, found: bool) -> None:
    assert bool(compile_pattern("5.1.0").search(text)) == found


def test_changelog_section_of_a_version_has_the_unreleased_changes() -> None:
    cut = cut_changelog(CHANGELOG, "5.2.0", "2026-02-02")
    assert cut.startswith("# Changelog\n\n## Unreleased\n\n## 5.2.0 - 2026-02-02\n\n- New.\n")
    assert (find_notes(cut, "5.2.0"), find_notes(cut, "5.1.0")) == ("- New.\n", "- Old.\n")
    with pytest.raises(VersionError, match=r"CHANGELOG\.md has a section for 5\.1\.0 already"):
        cut_changelog(CHANGELOG, "5.1.0", "2026-02-02")


def test_invalid_version_is_refused(tree: Tree) -> None:
    ran = tree.call("tools.release.version", "v1")
    assert (ran.returncode, ran.stderr) == (1, 'invalid version "v1": must be three numbers, such as 1.2.3\n')
