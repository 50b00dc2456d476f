"""
The images that buildah and Docker build from deploy/*.Dockerfile have the same content as those of `make images`.

All start from the base that mmdebstrap installs, because tests reach no registry. Layers of all builders are cached.
VIRTSHAPE_IMAGES=control,launcher compares both images; by default, only the smaller one is compared.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.deploy.test_images import MAX_BYTES
from tests.support.imagebuilders import Buildah, Built, Docker, ImageBuilder
from tests.support.skipping import IMPOSSIBLE
from tools.images.archive import File
from tools.images.arguments import ROOT
from tools.images.build import CACHE, MMDEBSTRAP, find_missing, find_obstacle
from tools.images.host import PLACE, build_environment

IMAGES = os.environ.get("VIRTSHAPE_IMAGES", "control").split(",")
BUILDERS = ("buildah", "docker")


class Both(NamedTuple):
    """An image of `make images`, and the same image of another builder."""

    builder: str
    name: str
    own: Built
    other: Built


def find_builder(name: str) -> Callable[[Path, Path], ImageBuilder]:
    """Return a function that starts a builder with the directories of its images and of all caches."""
    if obstacle := find_obstacle():
        pytest.skip(IMPOSSIBLE + obstacle)
    if name == "buildah":
        if missing := find_missing("buildah", MMDEBSTRAP):
            pytest.skip(f"{missing} (tools/images/install.sh)")
        return Buildah
    programs = CACHE.parent / "docker-debian"
    if not (programs / "usr/sbin/dockerd").exists():
        pytest.skip("no Docker daemon: tools/docker/debian.sh fetches it")
    return lambda directory, cache: Docker(programs, directory, cache)


@pytest.fixture(scope="module")
def buildah() -> ImageBuilder:
    return find_builder("buildah")(CACHE.parent / "buildah", CACHE.parents[1])


@pytest.fixture(scope="module", params=[(builder, image) for builder in BUILDERS for image in IMAGES], ids="-".join)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The same image, built by `make images` and by another builder."""
    name, image = request.param
    directory = tmp_path_factory.mktemp("images")
    own, other = build_both(name, image, CACHE.parent / name, CACHE.parents[1], directory)
    if own.sbom != other.sbom:  # cached layers may be older than an update of Debian: install the packages again
        own, other = build_both(name, image, directory / name, directory / "cache", directory)
    yield Both(name, image, own, other)
    shutil.rmtree(directory)


def build_both(name: str, image: str, store: Path, cache: Path, output: Path) -> tuple[Built, Built]:
    builder = find_builder(name)(store, cache)
    try:
        builder.clear_large_store()
        return builder.build_both(image, output)
    finally:
        builder.close()


def test_builder_installs_the_same_packages(both: Both) -> None:
    assert len(both.own.sbom["components"]) > 100
    assert both.other.sbom == both.own.sbom


def test_image_has_the_same_files(both: Both) -> None:
    own, other = both.own.image.files, both.other.image.files
    assert len(own) > 10_000
    assert find_differences(own, other) == {}


def find_differences(one: dict[str, File], other: dict[str, File]) -> dict[str, tuple[File | None, File | None]]:
    """Return paths whose type, permissions, owner or content differ; times are not compared."""
    paths = sorted(one.keys() | other.keys())
    return {path: (one.get(path), other.get(path)) for path in paths if one.get(path) != other.get(path)}


def test_image_has_the_same_configuration(both: Both) -> None:
    own, other = both.own.image.summary.config, both.other.image.summary.config
    assert set(own["config"]) == {"User", "Entrypoint", "Cmd", "Env", "Labels", "WorkingDir"}
    for name in ("architecture", "os"):
        assert other[name] == own[name]
    if both.builder == "docker":  # also writes its defaults and the time of the build; no directory means /
        written = {**other["config"], "WorkingDir": other["config"]["WorkingDir"] or "/"}
        assert {name: written[name] for name in own["config"]} == own["config"]
        assert not any(other["config"].get(name) for name in ("Volumes", "ExposedPorts", "OnBuild", "Healthcheck"))
    else:
        assert (other["config"], other["created"]) == (own["config"], own["created"])


@pytest.mark.parametrize("both", [("buildah", image) for image in IMAGES], ids="-".join, indirect=True)
def test_compressed_image_is_as_small_as_required(both: Both) -> None:
    assert both.other.image.summary.size < MAX_BYTES[both.name]


def test_images_contain_no_build_settings_of_this_machine(both: Both) -> None:
    settings = build_environment()
    assert "APT_CONFIG" in settings
    for built in (both.own, both.other):
        assert [name for name in settings if name in json.dumps(built.image.summary.config)] == []
        assert [path for path in built.image.files if path.startswith(f"{PLACE[1:]}/")] == []


def test_build_context_has_only_the_files_that_images_need(buildah: ImageBuilder, tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM scratch\nCOPY . /\n")
    target = tmp_path / "context"
    name = f"localhost/context-{os.getpid()}"
    buildah.run("buildah", "build", "--quiet", "--file", dockerfile, "--tag", name, ROOT)
    buildah.run("buildah", "push", "--quiet", "--disable-compression", name, f"dir:{target}")
    buildah.run("buildah", "rmi", name)
    (layer,) = json.loads((target / "manifest.json").read_text())["layers"]
    members = subprocess.run(
        ["tar", "-tf", target / layer["digest"].removeprefix("sha256:")],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    copied = {name for name in members if not name.endswith("/")}
    single = {"pyproject.toml", "uv.lock", "README.md", "LICENSE", "tools/python/uv.txt"}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*") if path.is_file()}
    assert copied == single | {path for path in sources if "__pycache__" not in path}
