"""
Build the archives of `kubectl virt` and the manifest with which krew installs them.

An archive contains bin/kubectl-virt and unpacked wheels for all versions of Python in `PYTHONS`. It needs Python as
`python3` on the machine, and can be unpacked anywhere. krew supports no links in archives, so there are none.
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tools.release.archives import write_archive
from tools.release.lockedwheels import ARCHITECTURES, PYTHONS, ROOT
from tools.release.project import read_project
from tools.release.wheeltree import list_wheels, unpack_wheels

NAME: Final = "virt"
MANIFEST: Final = f"{NAME}.yaml"
"""File name of the manifest, which krew requires to match the plugin's name."""
PROGRAM: Final = "bin/kubectl-virt"
SERVER_ONLY: Final = ("uvloop",)
"""Dependencies that only servers import; archives omit uvloop, which is larger than all others together."""

Tree = dict[str, Any]

_SCRIPT: Final = '''\
#!/usr/bin/env python3
"""Run {program}, with the modules in ../lib/kubectl-virt."""

import os
import sys

if not {first} <= sys.version_info[:2] <= {last}:
    sys.exit("kubectl virt needs Python {oldest} to {newest}, but python3 is version %d.%d" % sys.version_info[:2])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib", "kubectl-virt"))

from {module} import {function}

sys.exit({function}())
'''


def build_archives(wheel: Path, version: str, work: Path, output: Path, epoch: int) -> dict[str, Path]:
    """Build the archive of each architecture and return their paths."""
    return {name: build_archive(wheel, version, name, work, output, epoch) for name in ARCHITECTURES}


def build_archive(wheel: Path, version: str, architecture: str, work: Path, output: Path, epoch: int) -> Path:
    """Build the archive of one architecture and return its path."""
    root = work / f"kubectl-virt-{architecture}"
    modules = [path for path in list_wheels(architecture) if not path.name.startswith(SERVER_ONLY)]
    unpack_wheels([wheel, *modules], root / "lib/kubectl-virt")
    shutil.copy(ROOT / "LICENSE", root / "lib/kubectl-virt")
    for name, entry in read_project()["scripts"].items():
        if name.startswith("kubectl"):
            _write_program(root / "bin" / name, entry)
    target = output / f"kubectl-virt-{version}-linux-{architecture}.tar.gz"
    write_archive(root, target, epoch)
    shutil.rmtree(root)
    return target


def _write_program(path: Path, entry: str) -> None:
    module, _, function = entry.partition(":")
    first, last = (tuple(map(int, release.split("."))) for release in (PYTHONS[0], PYTHONS[-1]))
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        _SCRIPT.format(
            program=path.name,
            module=module,
            function=function,
            first=first,
            last=last,
            oldest=PYTHONS[0],
            newest=PYTHONS[-1],
        )
    )
    path.chmod(0o755)


def build_manifest(archives: dict[str, Path], version: str, url: str) -> Tree:
    """Return the manifest for archives that are published under a URL."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Control VMs, and expand and check their instance types",
            "description": "virtctl of virtshape as a kubectl plugin: start, stop and connect to VMs, expand instance\n"
            "types and preferences, and create VMs.\n",
            "caveats": f"Needs Python {PYTHONS[0]} to {PYTHONS[-1]} as python3, on Linux with glibc.\n",
            "platforms": _list_platforms(archives, url),
        },
    }


def _list_platforms(archives: dict[str, Path], url: str) -> Sequence[Tree]:
    return [
        {
            "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
            "uri": f"{url}/{path.name}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bin": PROGRAM,
        }
        for architecture, path in archives.items()
    ]
