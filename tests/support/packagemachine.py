"""Debian machines on which tests install the Debian package, and commands that users of the package run."""

import re
from importlib.metadata import version
from pathlib import Path

from tests.support.debianroot import DebianRoot
from tests.support.releases import find_install_line
from tests.support.upprocess import wait_until

RELEASE = version("virtshape")
NEXT = "99.0.0"
DATA = "/var/lib/virtshape"
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: kept}
spec:
  runStrategy: Always
  template:
    spec: {terminationGracePeriodSeconds: 0, domain: {cpu: {guest: 1}, memory: {guest: 64Mi}, devices: {}}}
"""


class PackageMachine(DebianRoot):
    """A Debian machine for the package."""

    def install(self, release: Path) -> None:
        """Run the README's command that installs the package of a release."""
        line = find_install_line("apt ")
        (name,) = re.findall(r"\./(\S+)", line)
        self.copy_in(release / name, f"/root/{name}")
        self.run(line)

    def upgrade(self, package: Path) -> None:
        """Install a newer package."""
        self.copy_in(package, "/root/next.deb")
        self.run("apt install -y ./next.deb")

    def kubectl(self, arguments: str, stdin: str = "") -> str:
        return self.run(f"kubectl --kubeconfig {DATA}/kubeconfig {arguments}", stdin=stdin)

    def is_ready(self) -> bool:
        """Return True if the server answers and is ready."""
        return self.succeeds(f"kubectl --kubeconfig {DATA}/kubeconfig get --raw /readyz")

    def start_guest(self) -> str:
        """Create a VM and return the only guest of the machine once it runs."""
        self.kubectl("apply -f -", stdin=VM)
        return self.wait_for_guest()

    def wait_for_guest(self) -> str:
        """Wait until the VM has a guest that runs, and return the only guest of the machine."""
        phase = "get vmi -o 'jsonpath={.items[*].status.phase}'"
        # After a boot, the phase is that of the last guest until the server has found that it ended.
        wait_until(lambda: self.list_guests() and self.kubectl(phase) == "Running", "no guest")
        (guest,) = self.list_guests()
        return guest

    def wait_for_vm(self) -> None:
        """Wait until the status of the VM, which follows that of its instance, is Running."""
        status = "get vm kept -o 'jsonpath={.status.printableStatus}'"
        wait_until(lambda: self.kubectl(status) == "Running", lambda: self.kubectl("get vm kept -o yaml"))

    def list_guests(self) -> list[str]:
        """Return the QEMU processes of guests; processes that libvirt starts to query QEMU have no guest name."""
        return self.run("grep -la 'guest[=]' /proc/[0-9]*/cmdline || true").split()
