"""A second node can run at the same time; when it stops, it removes everything from the machine."""

import os
from pathlib import Path

from tests.node.guests import attach_loop_device
from tools.node.namespaces import find_hierarchies, list_loop_devices
from tools.node.node import Node, wait_for
from tools.node.requirements import get_binaries


def test_second_node_leaves_no_process_mount_cgroup_or_loop_device(node: Node, tmp_path: Path) -> None:
    with Node(get_binaries(), tmp_path / "second", []) as second:
        disk = tmp_path / "second" / "disk.img"
        disk.write_bytes(bytes(1024 * 1024))
        attach_loop_device(disk)
        name, pid = second.namespaces.name, second.namespaces.pid
        assert Path(f"/proc/{second.kubelet.pid}").exists()
        assert (second.plane.port, name) != (node.plane.port, node.namespaces.name)
        for running in (second, node):
            wait_for(running.is_ready, "a node is not ready")  # both kubelets may be late on a busy machine
    assert not Path(f"/proc/{pid}").exists()
    assert not [line for line in list_command_lines() if str(tmp_path / "second") in line]
    assert not [path for hierarchy in find_hierarchies() for path in hierarchy.glob(f"{name}*")]
    assert list_loop_devices(tmp_path) == []
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    wait_for(node.is_ready, "the first node is not ready")


def list_command_lines() -> list[str]:
    """Return the command lines of all processes except this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if int(path.parent.name) != os.getpid():
            try:
                found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:  # the process has ended
                continue
    return found
