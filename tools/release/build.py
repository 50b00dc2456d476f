"""
Build all files of a release: `make release VERSION=1.2.3`.

    python -m tools.release.build 1.2.3 [--output dist/release] [--url URL] [--no-images]

The tree must be committed, and pyproject.toml and the changelog must have the version. The manifests and schemas are
printed by the wheel of the release. The same commit produces the same files; images also depend on Debian's packages.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.images import build as images
from tools.release.chart import package_chart
from tools.release.debianpackage import build_package
from tools.release.kubectlplugin import MANIFEST, build_archives, build_manifest
from tools.release.lockedwheels import ROOT
from tools.release.project import read_project
from tools.release.sbom import UV, write_sbom
from tools.release.version import CHANGELOG, VersionError, find_notes
from tools.release.wheeltree import list_wheels, unpack_wheels

from virtshape.api.yaml import write_yaml

URL: Final = "https://github.com/OWNER/virtshape/releases/download"
"""URL under which each version has a folder, named after its tag; docs/ci.md explains the placeholder OWNER."""


class Release:
    """The files of one version."""

    def __init__(self, version: str, output: Path, work: Path, epoch: int) -> None:
        self.version = version
        self.output = output
        self._work = work
        self._modules = work / "modules"
        self._epoch = epoch

    def build(self, url: str) -> None:
        """Build all files except images."""
        wheel = self._build_distributions()
        unpack_wheels([wheel, *list_wheels("amd64")], self._modules)
        build_package(self._modules, self.version, self._work, self.output, self._epoch)
        archives = build_archives(wheel, self.version, self._work, self.output, self._epoch)
        self._write(MANIFEST, write_yaml(build_manifest(archives, self.version, f"{url}/v{self.version}")))
        package_chart(self.version, self.output, self._epoch)
        self._write(f"virtshape-manifests-{self.version}.yaml", self._run("manifests", "--catalog"))
        self._write(f"virtshape-{self.version}.schema.json", self._run("schema"))
        write_sbom(self.output / f"virtshape-{self.version}.sbom.json", self._epoch)
        self._write("RELEASE_NOTES.md", get_notes(self.version))

    def build_images(self) -> None:
        """Build the images, or print why they are not built."""
        if missing := images.find_obstacle() or images.find_missing():
            print(f"The images are left out: {missing}.")
            return
        for name in images.NAMES:
            images.build_image(name, images.Request(output=self.output))

    def write_sums(self) -> None:
        """Write SHA256SUMS for all other files."""
        names = sorted(path.name for path in self.output.iterdir())
        sums = [f"{hashlib.sha256((self.output / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
        self._write("SHA256SUMS", "".join(sums))

    def _build_distributions(self) -> Path:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self._epoch)}
        line: list[str | Path] = [UV, "build", "--quiet", "--no-create-gitignore", "--out-dir", self.output, ROOT]
        subprocess.run(line, check=True, env=environment)
        (wheel,) = self.output.glob("*.whl")
        return wheel

    def _run(self, *arguments: str) -> str:
        """Run the `virtshape` command of this release and return its output."""
        environment = {**os.environ, "PYTHONPATH": str(self._modules), "PYTHONDONTWRITEBYTECODE": "1"}
        line = [sys.executable, "-P", "-m", "virtshape", *arguments]
        return subprocess.run(line, check=True, env=environment, capture_output=True, text=True).stdout

    def _write(self, name: str, text: str) -> None:
        (self.output / name).write_text(text)


def check_release(version: str) -> None:
    """Raise VersionError if the tree cannot be released as this version."""
    own = read_project()["version"]
    if version != own:
        step = f"Run `make set-version VERSION={version}` and commit the result."
        raise VersionError(f"the version in pyproject.toml is {own}, not {version}. {step}")
    get_notes(version)
    if changed := _git("status", "--porcelain"):
        raise VersionError(f"the tree has changes that are not committed:\n{changed}")


def get_notes(version: str) -> str:
    """Return the release notes: the section of the changelog."""
    notes = find_notes((ROOT / CHANGELOG).read_text(), version)
    if notes is None:
        step = f"Run `make set-version VERSION={version}` and commit the result."
        raise VersionError(f"{CHANGELOG} has no section for {version}. {step}")
    return notes


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Build the release that the arguments describe."""
    parser = argparse.ArgumentParser(description="Build all files of a release.")
    parser.add_argument("version")
    parser.add_argument("--output", type=Path, default=ROOT / "dist/release")
    parser.add_argument("--url", default=URL, help="where the files are published, without the folder of the version")
    parser.add_argument("--no-images", action="store_true", help="leave the images out")
    arguments = parser.parse_args()
    try:
        check_release(arguments.version)
    except VersionError as error:
        sys.exit(f"Nothing was built: {error}")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        release = Release(arguments.version, arguments.output, Path(work), epoch)
        release.build(arguments.url)
        if not arguments.no_images:
            release.build_images()
        release.write_sums()
    print(f"{arguments.output}:")
    print((arguments.output / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()
