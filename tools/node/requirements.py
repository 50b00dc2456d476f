"""Check whether a node can run on this machine: whether the machine permits it, and which programs are missing."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tools.node.configuration import CNI_PROGRAMS
from tools.node.namespaces import find_hierarchies
from tools.node.node import BUSYBOX

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
IMAGES: Final = tuple(ROOT / "dist" / "images" / f"{name}.tar" for name in ("virtshape", "virtshape-launcher"))
CONTROLLERS: Final = ("cpu", "memory", "pids")
BINARIES: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
)
_PROGRAMS: Final = (
    "containerd",
    "ctr",
    "runc",
    "iptables",
    "conntrack",
    "ip",
    "unshare",
    "nsenter",
    "setpriv",
    "losetup",
)
_MIN_MEMORY_GIB: Final = 3


def find_obstacle(memory_gib: int = _MIN_MEMORY_GIB) -> str:
    """Return why this machine cannot run a node, whatever is installed; an empty string if it can."""
    if os.geteuid() != 0:
        return "only root can run a node"
    if not set(CONTROLLERS) <= _list_controllers():
        return f"the cgroup controllers {', '.join(CONTROLLERS)} are not all available"
    namespaces = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "true"]
    if subprocess.run(namespaces, capture_output=True, check=False).returncode:
        return "creating namespaces is not permitted"
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        return "the kernel does not support overlayfs"
    memory = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    if int(memory["MemTotal"].split()[0]) < memory_gib * 1024 * 1024:
        return f"the node needs {memory_gib} GiB of memory"
    return ""


def _list_controllers() -> set[str]:
    """Return the controllers of writable cgroup hierarchies, from their file (cgroup v2) or directory names (v1)."""
    found: set[str] = set()
    for hierarchy in find_hierarchies():
        listed = hierarchy / "cgroup.controllers"
        found |= set(listed.read_text().split()) if listed.exists() else set(hierarchy.name.split(","))
    return found


def find_missing() -> str:
    """Return which programs and images are missing, and how to get them; an empty string if there are none."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    missing += [str(path) for path in (Path(CNI_PROGRAMS, "bridge"), BUSYBOX, *IMAGES) if not path.exists()]
    if not _list_builds():
        missing.append("kubelet")
    return f"no {', no '.join(missing)}: run tools/node/build.sh" if missing else ""


def get_binaries() -> Path:
    """Return the newest directory with all binaries that tools/node/build.sh has created."""
    return max(_list_builds(), key=lambda path: path.stat().st_mtime)


def _list_builds() -> list[Path]:
    return [path for path in CACHE.glob("cluster-*") if all((path / name).exists() for name in BINARIES)]
