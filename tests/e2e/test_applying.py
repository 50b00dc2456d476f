"""Unmodified manifests of other projects and kustomizations, applied with kubectl."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.kubectl import Kubectl, find_kubectls
from tests.support.upprocess import System, wait_until

KUSTOMIZE: Final = Path(__file__).parents[2] / "examples" / "kustomize"
FIRST_WITH_PATCHES: Final = (1, 21)
"""The first kubectl whose kustomize accepts folders as resources, and `patches`."""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """The newest kubectl, with a separate server whose catalog may be changed."""
    version, path = max(find_kubectls().items(), default=((0, 0), Path()))
    if version < FIRST_WITH_PATCHES:
        pytest.skip("kubectl 1.21 or newer is missing: tools/kubectl/build.sh builds it with Go")
    with System(tmp_path_factory.mktemp("applying") / "data", "--launcher", "simulate") as system:
        yield Kubectl(path, system.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize(("namespace", "size"), [("dev", "1 2Gi"), ("prod", "4 16Gi")])
def test_vm_applied_from_a_kustomization_gets_the_size_of_its_instancetype(
    kubectl: Kubectl, namespace: str, size: str
) -> None:
    kubectl("create", "namespace", namespace)
    in_namespace = kubectl.in_namespace(namespace)
    in_namespace("apply", "-k", KUSTOMIZE / namespace)
    columns = "jsonpath={.status.effective.vcpus} {.status.effective.memory}"
    wait_until(lambda: in_namespace("get", "vm", "web", "-o", columns) == size, f"the VM does not get {size}")


def test_common_instancetypes_of_kubevirt_can_be_applied(kubectl: Kubectl) -> None:
    path = Path(os.environ.get("VIRTSHAPE_REFERENCE") or ".") / "common-instancetypes.yaml"
    if not path.exists():
        pytest.skip("VIRTSHAPE_REFERENCE is not the path of a folder with common-instancetypes.yaml")
    applied = kubectl("apply", "-f", path).splitlines()
    assert len(applied) == path.read_text().count("\nkind: ")
    assert {line.rpartition(" ")[2] for line in applied} <= {"created", "configured", "unchanged"}
