"""The distributions of this checkout, an index that has only them and their dependencies, and a release."""

from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.localindex import LocalIndex, make_index
from tests.support.packagemachine import NEXT
from tests.support.releases import Tree, build_debian_package

RELEASE = version("virtshape")


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> LocalIndex:
    return make_index(tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release with the current version, without images, as `make release` builds them."""
    folder = tmp_path_factory.mktemp("release")
    tree = Tree(folder / "tree")
    tree.set_version(RELEASE)
    output = folder / "files"
    ran = tree.call("tools.release.build", RELEASE, "--no-images", "--output", output)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return output


@pytest.fixture(scope="session")
def next_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Debian package of a later version."""
    tree = Tree(tmp_path_factory.mktemp("next") / "tree")
    tree.set_version(NEXT)
    return build_debian_package(tree, NEXT, tmp_path_factory.mktemp("package"))
