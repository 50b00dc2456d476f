"""
Root file systems of Debian for tests: with the packages that the Debian package depends on, or with a newer Python.

    python -m tools.release.debianroots     creates the missing ones, as .ci/run does

The root file systems are layers in a cache outside the tree. The base of each Debian release is the one that
`tools/fresh/check.sh` uses, if it exists; otherwise mmdebstrap installs it. Needs root.
"""

import os
from pathlib import Path
from typing import Final

from tools.images.host import PATH, build_environment, write_settings
from tools.images.layers import Store
from tools.release.debianpackage import OPTIONAL, list_dependencies

SUITES: Final = ("bookworm", "trixie")
"""The Debian releases that the Debian package supports."""
TESTING: Final = "forky"
"""The next Debian release, whose Python is newer: the tests install the wheel with it."""
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
EPOCH: Final = 1_700_000_000


def make_layers(suite: str) -> list[Path]:
    """Return the layers of a Debian release and its packages; create the layers if they are not in the cache."""
    directory = CACHE / "debianroots" / suite
    write_settings(directory / "settings", suite)
    store = Store(directory, directory / "settings", EPOCH)
    archive = CACHE / "fresh" / f"{suite}.tar"
    base = store.unpack(archive) if archive.exists() else store.make_base(suite, "amd64")
    packages = ["python3"] if suite == TESTING else ["python3", "systemd", *list_dependencies(), *OPTIONAL]
    command = f"apt-get update -qq && apt-get install -qq -y --no-install-recommends {' '.join(packages)}"
    variables = {"HOME": "/root", "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", **build_environment()}
    layers = [base, store.run([base], command, variables, "/")]
    store.prune(layers)
    return layers


if __name__ == "__main__":
    for each in (*SUITES, TESTING):
        make_layers(each)
