"""
The Debian package on Debian machines without systemd: installation, the server, upgrade, removal and purge.

The tests of a machine run in this order. The tests start the command of the unit as the user of the unit.
test_debian_service.py runs the service with systemd. No machine has a network.
"""

import configparser
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.debianroot import require_namespaces
from tests.support.documents import ROOT
from tests.support.packagemachine import DATA, NEXT, RELEASE, PackageMachine
from tests.support.upprocess import wait_until
from tools.release.debianpackage import BUILDS_BINDING, DEVELOPMENT, FILES, OPTIONAL, build_package, list_dependencies
from tools.release.debianroots import SUITES, make_layers


class Machine(PackageMachine):
    """A Debian machine without systemd, and the server if the test has started it."""

    server: subprocess.Popen[str] | None = None

    def start_server(self) -> None:
        """Start the command of the unit as systemd would, and wait until the server is ready."""
        unit = read_unit()
        settings = f"set -a; . {unit['EnvironmentFile'].removeprefix('-')}; set +a"
        user = f"setpriv --reuid={unit['User']} --regid={unit['Group']} --init-groups"
        command = f"umask {unit['UMask']}; cd /; {settings}; exec {user} env HOME={DATA} {unit['ExecStart']}"
        self.server = self.start(f"{command} >/dev/null 2>/tmp/server.log")
        wait_until(self.is_ready, lambda: self.run("cat /tmp/server.log"))

    def stop_server(self) -> None:
        """Send SIGTERM to the main process alone, as `KillMode=process` does."""
        assert self.server is not None
        self.run(f"kill $(cat {DATA}/lock)")
        assert self.server.wait(300) == 0
        self.server.communicate()
        self.server = None

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self.server is not None:
            self.server.communicate()  # ended with the machine


def read_unit() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment, method-assign] # as the standard library documents
    parser.read(FILES / "virtshape.service")
    return parser["Service"]


@pytest.fixture(scope="module", params=SUITES)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    require_namespaces()
    with Machine(make_layers(request.param), tmp_path_factory.mktemp(request.param)) as started:
        yield started


def test_install_line_of_the_readme_creates_a_private_data_directory(machine: Machine, release: Path) -> None:
    machine.install(release)
    assert machine.run("virtshape version").startswith(f"virtshape {RELEASE} ")
    assert machine.run(f"stat -c '%a %U %G' {DATA}") == "700 virtshape virtshape\n"
    modes = "750 root virtshape\n640 root virtshape\n640 root virtshape\n"
    assert machine.run("stat -c '%a %U %G' /etc/virtshape /etc/virtshape/*") == modes
    assert machine.run("id --name --groups virtshape").split() == ["virtshape", "kvm"]


def test_service_is_valid_and_enabled(machine: Machine) -> None:
    machine.run("systemd-analyze verify --man=no virtshape.service 2>&1")
    assert machine.run("systemctl is-enabled virtshape.service") == "enabled\n"


def test_service_runs_a_guest_that_survives_an_upgrade(machine: Machine, next_package: Path) -> None:
    machine.start_server()
    listeners = machine.run("""awk '$4 == "0A" {print $2}' /proc/net/tcp /proc/net/tcp6""")
    assert listeners == "0100007F:192B\n"  # 127.0.0.1:6443
    guests = [machine.start_guest()]
    machine.run("echo 'registries: {enabled: false}' >> /etc/virtshape/config.yaml")
    machine.upgrade(next_package)
    machine.stop_server()
    assert machine.list_guests() == guests
    machine.start_server()
    assert machine.run("virtshape version").startswith(f"virtshape {NEXT} ")
    machine.wait_for_vm()
    assert machine.list_guests() == guests
    assert "registries" in machine.run(f"cat {DATA}/config.yaml")  # the upgrade has not replaced the file


def test_modules_are_recompiled_when_python_is_upgraded(machine: Machine) -> None:
    count = "find /usr/lib/virtshape -name '*.pyc' | wc -l"
    compiled = int(machine.run(count))
    assert compiled > 500
    machine.run("rm -r /usr/lib/virtshape/lib/python3/site-packages/virtshape/cli/__pycache__")
    assert int(machine.run(count)) < compiled
    machine.run("dpkg-trigger --no-await /usr/bin/python3 && dpkg --configure --pending")
    assert int(machine.run(count)) == compiled


def test_removal_of_the_package_stops_guests_and_does_not_delete_data(machine: Machine) -> None:
    machine.run("apt remove -y virtshape")
    assert machine.list_guests() == []
    assert not machine.succeeds("command -v virtshape")
    assert machine.run("ls -d /usr/lib/virtshape 2>&1 || true").endswith("No such file or directory\n")
    machine.run(f"test -s {DATA}/virtshape.db && test -s /etc/virtshape/server.env")


def test_purge_of_the_package_deletes_data_configuration_and_user(machine: Machine) -> None:
    machine.run("apt purge -y virtshape")
    assert machine.run(f"ls -d {DATA} /etc/virtshape 2>/dev/null || true") == ""
    assert not machine.succeeds("getent passwd virtshape || getent group virtshape")


def test_every_system_package_is_a_dependency_or_has_a_reason_not_to_be() -> None:
    lines = (ROOT / "packages.txt").read_text().splitlines()
    listed = {line for line in lines if line and not line.startswith("#")}
    left_out = {*BUILDS_BINDING, *DEVELOPMENT, *OPTIONAL}
    assert left_out < listed
    assert listed - left_out == set(list_dependencies()) - {"python3-libvirt"}


def test_stopping_the_unit_does_not_kill_guests() -> None:
    unit = read_unit()
    assert (unit["KillMode"], unit["OOMPolicy"]) == ("process", "continue")
    assert "PrivateTmp" not in unit


def test_debian_package_build_is_reproducible(tmp_path: Path) -> None:
    built = []
    for name in ("a", "b"):
        modules = tmp_path / name / "modules"
        modules.mkdir(parents=True, mode=0o700 if name == "a" else 0o755)
        for module in sorted(("x.py", "y.py"), reverse=name == "a"):
            (modules / module).write_text("")
        built.append(
            build_package(modules, "1.0.0", tmp_path / name, tmp_path / name, epoch=1_700_000_000).read_bytes()
        )
    assert built[0] == built[1]
