"""
A real node for all tests of this package, with virtshape installed from its manifests.

The modules run in alphabetical order on one worker; the last one removes the installation.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from tests.cluster.install import print_manifests
from tests.node.guests import GuestNode
from tests.node.installation import allow_slow_webhooks, configure, wait_for_components
from tests.node.specs import run_kubevirt_specs
from tests.support.demo import get_demo
from tests.support.kubectl import Kubectl
from tests.support.kubevirt import SpecResults
from tests.support.rendering import find_kubectl
from tests.support.skipping import IMPOSSIBLE
from tests.support.virtctl import Virtctl
from tools.node.node import Node
from tools.node.requirements import IMAGES, ROOT, find_missing, find_obstacle, get_binaries

from virtshape.launcher.images.demo.build import DemoGuest

EXAMPLE = ROOT / "examples" / "demo.yaml"
MEMORY_GIB = 7
"""Memory that the machine needs to run all guests at the same time."""
NAMESPACE = "guests"
SEED = "#!/bin/sh\necho seed ran in $(hostname)\n"
EARLY = {
    "test_kubevirt_specs": ("specs",),
    "test_guests": ("example", "web", "secure"),
    "test_losses": ("steady",),
}
"""Fixtures that are set up before the first test, by the name of the module that uses them."""


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node with the images of the current sources."""
    if obstacle := find_obstacle(MEMORY_GIB):
        pytest.skip(IMPOSSIBLE + obstacle)
    if missing := find_missing():
        pytest.skip(missing)
    line = [sys.executable, "-m", "tools.images.build"]
    built = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    with Node(get_binaries(), tmp_path_factory.mktemp("node"), IMAGES) as running:
        yield running


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home directory of kubectl and virtctl."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="package")
def cluster(node: Node, home: Path) -> Kubectl:
    """kubectl as the admin, without a default namespace."""
    return Kubectl(find_kubectl(), node.kubeconfig, home, namespace="")


@pytest.fixture(scope="package")
def installed(cluster: Kubectl) -> Kubectl:
    """The cluster with virtshape installed from its manifests, ready to run guests without KVM."""
    cluster("apply", "-f", "-", stdin=print_manifests("--catalog", "--cdi"))
    wait_for_components(cluster)
    allow_slow_webhooks(cluster)
    configure(cluster)
    return cluster


@pytest.fixture(scope="package")
def demo(request: pytest.FixtureRequest) -> DemoGuest:
    """The files of the demo guest."""
    return get_demo(request.config, "full")


@pytest.fixture(scope="package")
def guests(node: Node, installed: Kubectl, demo: DemoGuest, home: Path) -> GuestNode:
    """The namespace of the guests."""
    installed("create", "namespace", NAMESPACE)
    installed("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    kubectl = installed.in_namespace(NAMESPACE)
    return GuestNode(node, kubectl, Virtctl(node.kubeconfig, home, NAMESPACE), demo.disk)


@pytest.fixture(scope="package")
def specs(node: Node, installed: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[SpecResults]]:
    """KubeVirt's specs, which run while other tests wait."""
    with run_kubevirt_specs(node, installed, tmp_path_factory.mktemp("specs")) as running:
        yield running


@pytest.fixture(scope="package", autouse=True)
def _early(request: pytest.FixtureRequest) -> None:
    """Start the guests and specs of all selected modules together: they boot and run while other tests wait."""
    selected = {item.path.stem for item in request.session.items if item.path.parent == Path(__file__).parent}
    for module, fixtures in EARLY.items():
        for name in fixtures if module in selected else ():
            request.getfixturevalue(name)


@pytest.fixture(scope="package")
def example(guests: GuestNode) -> GuestNode:
    """The VM of the example, named `demo`."""
    guests.kubectl("apply", "-f", EXAMPLE)
    return guests


@pytest.fixture(scope="package")
def web(guests: GuestNode) -> GuestNode:
    """The VM `web` with two vCPUs, a disk image in a claim, and cloud-init; its vCPUs and memory can be increased."""
    guests.create_claim("root")
    guests.create("web", "root", seed=SEED, domain={"cpu": {"sockets": 2}, "memory": {"guest": "1Gi"}})
    return guests


@pytest.fixture(scope="package")
def secure(guests: GuestNode) -> GuestNode:
    """The VM `secure` with EFI, a TPM and a disk on a block device."""
    guests.create_claim("block", block=True)
    domain = {
        "memory": {"guest": "512Mi"},
        "firmware": {"bootloader": {"efi": {"secureBoot": False}}},
        "devices": {"tpm": {}},
    }
    guests.create("secure", "block", domain=domain)
    return guests


@pytest.fixture(scope="package")
def steady(guests: GuestNode) -> GuestNode:
    """Two VMs that must survive failures: `steady` with a claim, and `second`."""
    guests.create_claim("steady")
    guests.create("steady", "steady")
    guests.create("second")
    return guests
