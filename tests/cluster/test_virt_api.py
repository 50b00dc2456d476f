"""KubeVirt's virt-api, as our benchmarks run it: on a control plane with KubeVirt's own CRDs and webhooks."""

import json
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubevirt import find_program
from tests.support.smallmanifests import build_instancetype, build_vm
from tests.support.virtapi import run_virt_api

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.webhooks import build_webhooks

INSTANCETYPES: Final = "/apis/instancetype.kubevirt.io/v1beta1/namespaces/default/virtualmachineinstancetypes"
VMS: Final = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
SUBRESOURCES: Final = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines"
MATCHER: Final = {"name": "size", "kind": "VirtualMachineInstancetype"}


@pytest.fixture(scope="module")
def kubevirt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with virt-api and an instance type."""
    programs = find_program("virt-api").parent
    directory = tmp_path_factory.mktemp("kubevirt")
    with (
        ControlPlane(require_binaries(), directory, with_controllers=False) as plane,
        run_virt_api(plane, programs),
    ):
        code, answer = plane.request("POST", INSTANCETYPES, build_instancetype("size", "v1beta1", 2, "1Gi"))
        assert code == 201, answer
        yield plane


def test_virt_api_sets_defaults_and_expands_a_vm(kubevirt: ControlPlane) -> None:
    code, created = kubevirt.request("POST", VMS, build_vm("web", instancetype=MATCHER, preference=None))
    assert (code, "architecture" in created["spec"]["template"]["spec"]) == (201, True), created
    code, expanded = kubevirt.request("GET", f"{SUBRESOURCES}/web/expand-spec")
    assert (code, expanded["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"]) == (200, 2), expanded


def test_virt_api_rejects_a_vm_that_conflicts_with_its_instancetype(kubevirt: ControlPlane) -> None:
    vm = build_vm("torn", instancetype=MATCHER, preference=None)
    vm["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "2Gi"}
    code, answer = kubevirt.request("POST", VMS, vm)
    conflict = "VM field(s) spec.template.spec.domain.memory.guest conflicts with selected instance type"
    webhook = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request'
    assert (code, answer["message"]) == (422, f"{webhook}: {conflict}")


def test_our_webhooks_in_the_kubevirt_io_domain_have_the_same_names_as_in_kubevirt() -> None:
    printed = subprocess.run([find_program("objects")], capture_output=True, check=True).stdout
    theirs = list_webhooks(json.loads(printed)["items"])
    ours = {name for name in list_webhooks(build_webhooks(Options())) if name.endswith(".kubevirt.io")}
    assert len(ours) == 3
    assert ours <= theirs


def list_webhooks(trees: list[JsonObject]) -> set[str]:
    """Return the names of all webhooks."""
    return {webhook["name"] for tree in trees for webhook in tree.get("webhooks", ())}
