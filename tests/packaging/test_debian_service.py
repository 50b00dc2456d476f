"""
The service of the Debian package on Debian machines that systemd has booted.

The tests of a machine run in this order. No machine has a network.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.packagemachine import DATA, NEXT, RELEASE, PackageMachine
from tests.support.systemdroot import SystemdRoot
from tests.support.upprocess import wait_until
from tools.release.debianroots import SUITES, make_layers

UNIT = "virtshape.service"


class Machine(PackageMachine, SystemdRoot):
    """A Debian machine with systemd."""

    def show(self, name: str) -> str:
        """Return a property of the unit."""
        return self.run(f"systemctl show --property={name} --value {UNIT}").strip()

    def wait_for_server(self, *, other_than: str = "") -> str:
        """Wait until the server is ready and return its PID; a restarted server has another PID than before."""
        wait_until(lambda: self.show("MainPID") not in ("0", other_than), self.describe)
        wait_until(self.is_ready, self.describe)
        return self.show("MainPID")

    def describe(self) -> str:
        return self.run(f"systemctl status --no-pager {UNIT} || true; journalctl --unit {UNIT} --no-pager | tail -n 40")

    def list_unit_processes(self) -> list[str]:
        """Return the processes in the cgroup of the unit, as the names of their directories in /proc."""
        pids = self.run(f"cat /sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs").split()
        return [f"/proc/{pid}/cmdline" for pid in pids]


@pytest.fixture(scope="module", params=SUITES)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with Machine(make_layers(request.param), tmp_path_factory.mktemp(request.param)) as started:
        yield started


def test_installation_starts_the_service(machine: Machine, release: Path) -> None:
    machine.install(release)
    assert machine.run(f"systemctl is-active {UNIT}; systemctl is-enabled {UNIT}") == "active\nenabled\n"
    pid = machine.wait_for_server()
    assert machine.run(f"stat -c %U /proc/{pid}") == "virtshape\n"
    assert "Server Version" in machine.run(f"virtctl --kubeconfig {DATA}/kubeconfig version")
    status = machine.run(f"runuser -u virtshape -- virtshape status --data-dir {DATA}")
    assert status.startswith("STATE       healthy\n")


def test_service_cannot_change_the_system(machine: Machine) -> None:
    enter = f"nsenter --target {machine.show('MainPID')} --mount"
    for directory in ("/usr", "/etc"):
        assert not machine.succeeds(f"{enter} touch {directory}/written")
    machine.run(f"{enter} touch {DATA}/written && rm {DATA}/written")
    assert machine.run(f"grep NoNewPrivs /proc/{machine.show('MainPID')}/status").split() == ["NoNewPrivs:", "1"]


def test_journal_has_no_link_that_signs_in(machine: Machine) -> None:
    journal = machine.run(f"journalctl --unit {UNIT} --output cat")
    assert f"Started {UNIT}" in journal
    assert "in a browser" not in journal


def test_restart_of_the_service_keeps_guests_running(machine: Machine) -> None:
    guest = machine.start_guest()
    pid = machine.show("MainPID")
    assert guest in machine.list_unit_processes()
    machine.run("systemctl restart virtshape")
    machine.wait_for_server(other_than=pid)
    assert machine.wait_for_guest() == guest
    assert guest in machine.list_unit_processes()


def test_systemd_restarts_a_killed_server(machine: Machine) -> None:
    guests, pid = machine.list_guests(), machine.show("MainPID")
    machine.run(f"kill -KILL {pid}")
    machine.wait_for_server(other_than=pid)
    assert machine.show("NRestarts") == "1"
    assert machine.list_guests() == guests


def test_stop_of_the_service_keeps_guests_running(machine: Machine) -> None:
    guests = machine.list_guests()
    machine.run("systemctl stop virtshape")
    assert machine.show("ActiveState") == "inactive"
    assert not machine.is_ready()
    assert machine.list_guests() == guests
    machine.run("systemctl start virtshape")
    machine.wait_for_server()
    assert [machine.wait_for_guest()] == guests


def test_flags_in_the_environment_file_change_the_address(machine: Machine) -> None:
    machine.run("echo 'UP_FLAGS=--listen 127.0.0.1:7443' >> /etc/virtshape/server.env; systemctl restart virtshape")
    machine.wait_for_server()
    listeners = """awk '$4 == "0A" {print $2}' /proc/net/tcp"""
    assert machine.run(listeners) == "0100007F:1D13\n"


def test_upgrade_restarts_the_server_and_keeps_guests_and_settings(machine: Machine, next_package: Path) -> None:
    guests, pid = machine.list_guests(), machine.show("MainPID")
    machine.upgrade(next_package)
    machine.wait_for_server(other_than=pid)
    assert f"virtshape-{NEXT}" in machine.kubectl("get --raw /version")
    assert [machine.wait_for_guest()] == guests
    assert "127.0.0.1:7443" in machine.kubectl("config view --minify -o 'jsonpath={.clusters[0].cluster.server}'")


def test_boot_starts_the_service_and_its_vms(machine: Machine) -> None:
    machine.reboot()
    machine.wait_for_server()
    machine.wait_for_guest()
    machine.wait_for_vm()


def test_removal_stops_the_service_and_its_guests(machine: Machine) -> None:
    machine.run("apt remove -y virtshape")
    assert machine.show("ActiveState") == "inactive"
    assert machine.list_guests() == []
    assert not machine.succeeds("command -v virtshape")
    machine.run(f"test -s {DATA}/virtshape.db && test -s /etc/virtshape/server.env")


def test_package_can_be_installed_again_with_its_data(machine: Machine, release: Path) -> None:
    machine.install(release)
    machine.wait_for_server()
    assert f"virtshape-{RELEASE}" in machine.kubectl("get --raw /version")
    machine.wait_for_guest()


def test_purge_deletes_the_service_and_its_data(machine: Machine) -> None:
    machine.run("apt purge -y virtshape")
    assert machine.show("LoadState") == "not-found"
    assert machine.list_guests() == []
    assert machine.run(f"ls -d {DATA} /etc/virtshape 2>/dev/null || true") == ""
    assert not machine.succeeds("getent passwd virtshape || getent group virtshape")
    assert machine.run("systemctl --failed --no-legend") == ""
