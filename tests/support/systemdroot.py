"""
Debian machines whose process 1 is systemd, in namespaces that also separate cgroups, IPC and the host name.

systemd gets a cgroup v2 without controllers that it needs: a hierarchy next to those of cgroup v1 is enough. It cannot
change the kernel's settings, modules or clock.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.debianroot import DebianRoot, require_namespaces
from tests.support.skipping import IMPOSSIBLE
from tests.support.upprocess import wait_until
from tools.node.namespaces import find_hierarchies, remove_cgroups

INIT = """\
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
exec setpriv --bounding-set=-sys_module,-sys_rawio,-sys_time,-syslog \\
    env -i container=test PATH=$PATH /lib/systemd/systemd --log-target=journal --show-status=no
"""


def find_cgroup2() -> Path | None:
    """Return the writable hierarchy of cgroup v2."""
    return next((path for path in find_hierarchies() if (path / "cgroup.controllers").exists()), None)


def require_systemd() -> Path:
    """Skip the test if this machine cannot run systemd in namespaces; return the hierarchy of cgroup v2."""
    require_namespaces()
    hierarchy = find_cgroup2()
    return hierarchy or pytest.skip(f"{IMPOSSIBLE}there is no writable hierarchy of cgroup v2")


class SystemdRoot(DebianRoot):
    """A machine that systemd has booted."""

    namespaces = (*DebianRoot.namespaces, "--uts", "--ipc", "--cgroup")
    init = INIT
    process = "systemd"

    def __init__(self, layers: Sequence[Path], directory: Path) -> None:
        self._cgroup = require_systemd() / f"virtshape-systemd-{secrets.token_hex(4)}"
        self._cgroup.mkdir()
        self.prefix = ("sh", "-ec", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(self._cgroup))
        super().__init__(layers, directory)

    def wait_for_boot(self) -> None:
        """Wait until systemd has started all units; fail if a unit has failed."""
        wait_until(lambda: self.succeeds("test -S /run/systemd/private"), "systemd did not start")
        self.run("systemctl is-system-running --wait || { systemctl --failed; false; }")

    def reboot(self) -> None:
        """Shut the machine down as its administrator would, and boot it again from the same files."""
        self.run("systemctl --no-block poweroff")
        self._holder.wait(600)
        self.boot()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        remove_cgroups(self._cgroup.name)
