"""
Build the Debian package: virtshape and its locked dependencies in /usr/lib/virtshape, and a service.

The directory is a virtual environment of the machine's Python. One package works with all versions of Python in
`PYTHONS`, because the names of compiled modules contain the version. Needs dpkg-deb.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.release.archives import normalize_modes
from tools.release.lockedwheels import PYTHONS, ROOT
from tools.release.project import read_project
from tools.release.wheeltree import copy_tree

FILES: Final = ROOT / "deploy/debian"
HOME: Final = "/usr/lib/virtshape"
MODULES: Final = f"{HOME}/lib/python3/site-packages"
SETTINGS: Final = ("config.yaml", "server.env")
SCRIPTS: Final = ("postinst", "prerm", "postrm")
BINDING: Final = "python3-libvirt"
"""Debian's package of the libvirt binding, which matches Debian's libvirt; our package links to its modules."""

BUILDS_BINDING: Final = ("python3-venv", "libvirt-dev", "pkg-config", "gcc", "libc6-dev", "python3-dev")
"""Packages in packages.txt that `BINDING` replaces."""
DEVELOPMENT: Final = ("curl", "jq", "iproute2")
"""Packages in packages.txt that only tests and documents use."""
OPTIONAL: Final = {"kubernetes-client": "kubernetes-client | kubectl", "openssh-client": "openssh-client"}
"""Packages in packages.txt that users of the machine need, but the service does not."""


def list_dependencies() -> list[str]:
    """Return the packages that our Debian package depends on, in addition to Python."""
    lines = (ROOT / "packages.txt").read_text().splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    return [name for name in names if name not in (*BUILDS_BINDING, *DEVELOPMENT, *OPTIONAL)] + [BINDING]


def build_package(modules: Path, version: str, work: Path, output: Path, epoch: int) -> Path:
    """Build the package from a directory of unpacked wheels and return its path."""
    root = work / "package"
    _write_environment(root, modules)
    _write_service(root)
    _write_documents(root)
    _write_control(root, version)
    normalize_modes(root)
    target = output / f"virtshape_{version}_amd64.deb"
    line = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z6", "--threads-max=1", "--build", str(root), str(target)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
    shutil.rmtree(root)
    return target


def _write_environment(root: Path, modules: Path) -> None:
    home = root / HOME.strip("/")
    copy_tree(modules, root / MODULES.strip("/"))
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    for release in PYTHONS:
        (home / "lib" / f"python{release}").symlink_to("python3")
    for name in _list_binding_modules():
        (root / MODULES.strip("/") / name).symlink_to(f"/usr/lib/python3/dist-packages/{name}")
    (home / "bin").mkdir()
    (home / "bin/python3").symlink_to("/usr/bin/python3")
    (root / "usr/bin").mkdir()
    for name, function in read_project()["scripts"].items():
        _write_program(home / "bin" / name, function)
        (root / "usr/bin" / name).symlink_to(f"{HOME}/bin/{name}")


def _list_binding_modules() -> Iterator[str]:
    """Yield the names of the modules that virtshape imports, in all versions of Python."""
    for module in ("libvirt", "libvirt_qemu"):
        yield f"{module}.py"
    for module in ("libvirtmod", "libvirtmod_qemu"):
        for release in PYTHONS:
            yield f"{module}.cpython-{release.replace('.', '')}-x86_64-linux-gnu.so"


def _write_program(path: Path, function: str) -> None:
    module, _, name = function.partition(":")
    path.write_text(f"#!{HOME}/bin/python3 -I\nimport sys\n\nfrom {module} import {name}\n\nsys.exit({name}())\n")
    path.chmod(0o755)


def _write_service(root: Path) -> None:
    for folder in ("usr/lib/systemd/system", "etc/virtshape"):
        (root / folder).mkdir(parents=True)
    shutil.copy(FILES / "virtshape.service", root / "usr/lib/systemd/system")
    for name in SETTINGS:
        shutil.copy(FILES / name, root / "etc/virtshape")


def _write_documents(root: Path) -> None:
    folder = root / "usr/share/doc/virtshape"
    folder.mkdir(parents=True)
    for source, name in {"README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "LICENSE": "copyright"}.items():
        shutil.copy(ROOT / source, folder / name)


def _write_control(root: Path, version: str) -> None:
    folder = root / "DEBIAN"
    folder.mkdir()
    size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    first, last = PYTHONS[0], PYTHONS[-1]
    after = f"{last.partition('.')[0]}.{int(last.partition('.')[2]) + 1}"
    fields = {
        "Package": "virtshape",
        "Version": version,
        "Architecture": "amd64",
        "Maintainer": "The virtshape maintainers <virtshape@localhost>",
        "Installed-Size": str(size),
        "Section": "admin",
        "Priority": "optional",
        "Depends": ", ".join(
            [f"python3 (>= {first})", f"python3 (<< {after})", "passwd", "libc6 (>= 2.28)", *list_dependencies()]
        ),
        "Recommends": ", ".join(OPTIONAL.values()),
        "Description": "virtual machines with instance types and preferences\n"
        " A Kubernetes-compatible server for virtual machines of one machine, as a service,\n"
        " and the commands virtshape, virtctl and kubectl virt.",
    }
    (folder / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    (folder / "conffiles").write_text("".join(f"/etc/virtshape/{name}\n" for name in SETTINGS))
    shutil.copy(FILES / "triggers", folder)
    for name in SCRIPTS:
        shutil.copy(FILES / name, folder)
        (folder / name).chmod(0o755)
