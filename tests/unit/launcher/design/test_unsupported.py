"""Fields of an instance outside its domain: each is applied, is refused or has a note."""

from inspect import isclass
from typing import Any, get_args

import pytest
from msgspec import structs
from msgspec.structs import replace
from tests.support.domains import EMULATING, design_guest
from tests.unit.launcher.design.devices.test_every_field import STRUCTS

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.model import JsonObject, Model
from virtshape.launcher.volumes.prepare import KINDS

ONE_MACHINE = "has no effect: there is only one host"
RESOLVERS = "has no effect: guests use the name servers of the host"
SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]

NOTED: dict[str, tuple[JsonObject, str]] = {
    "subdomain": ({"subdomain": "s"}, "has no effect: there is no DNS server for guests"),
    "dnsPolicy": ({"dnsPolicy": "None"}, RESOLVERS),
    "dnsConfig": ({"dnsConfig": {"nameservers": ["9.9.9.9"]}}, RESOLVERS),
    "affinity.podAffinity": ({"affinity": {"podAffinity": {}}}, ONE_MACHINE),
    "affinity.podAntiAffinity": ({"affinity": {"podAntiAffinity": {}}}, ONE_MACHINE),
    "topologySpreadConstraints": ({"topologySpreadConstraints": SPREAD}, ONE_MACHINE),
    "schedulerName": ({"schedulerName": "s"}, ONE_MACHINE),
    "priorityClassName": ({"priorityClassName": "p"}, "has no effect: guests are not preempted"),
    "evictionStrategy": (
        {"evictionStrategy": "LiveMigrate"},
        "has no effect: there is no other host to migrate to",
    ),
}

CHANGES: dict[str, JsonObject] = {
    "architecture": {"architecture": "arm64"},
    "startStrategy": {"startStrategy": "Paused"},
    "terminationGracePeriodSeconds": {"terminationGracePeriodSeconds": 7},
    "livenessProbe": {"livenessProbe": {"tcpSocket": {"port": 1}}},
    "readinessProbe": {"readinessProbe": {"tcpSocket": {"port": 1}}},
    "utilityVolumes": {"utilityVolumes": [{"name": "u", "claimName": "c"}]},
    **{name.partition(".")[0]: tree for name, (tree, _) in NOTED.items()},
}

ELSEWHERE = {
    "domain": "has a test for each field",
    "networks": "is tested with the devices",
    "volumes": "are prepared before the domain is designed",
    "accessCredentials": "are added by cloud-init or the agent; missing secrets are reported by the plan",
    "resourceClaims": "are rejected at the device or network that refers to them",
    "hostname": "is part of the cloud-init metadata and the host name of the pod",
    "nodeSelector": "is used by the scheduler",
    "tolerations": "are used by the scheduler",
    "serviceAccountName": "is used for clone permissions and for volumes with its token",
}

WITHOUT_IMAGE = {"container_path", "memory_dump", "downward_metrics"}
INSIDE_ANOTHER = {
    "FeatureState": "is tested with the feature that it switches",
    "DHCPPrivateOptions": "is rejected with the DHCP options that contain it",
    "ClaimRequest": "is rejected as a whole",
}


@pytest.mark.parametrize("field", CHANGES)
def test_each_instance_field_changes_the_design(field: str) -> None:
    assert design_guest(uid="u", **CHANGES[field]) != design_guest(uid="u")


def test_every_instance_field_is_tested() -> None:
    fields = {field.encode_name for field in structs.fields(VirtualMachineInstanceSpec)}
    assert fields == {*CHANGES, *ELSEWHERE}


@pytest.mark.parametrize(("tree", "text"), NOTED.values(), ids=NOTED)
def test_fields_that_only_a_cluster_applies_have_a_note_outside_a_cluster(tree: JsonObject, text: str) -> None:
    plain, asked = design_guest(host=EMULATING), design_guest(host=EMULATING, **tree)
    assert [note.text for note in asked.notes if note not in plain.notes] == [text]
    in_cluster = replace(EMULATING, cluster=True)
    assert design_guest(host=in_cluster, **tree).notes == plain.notes


def test_utility_volumes_are_refused() -> None:
    refusals = design_guest(utilityVolumes=[{"name": "u", "claimName": "c"}]).refusals
    assert [(one.field, one.reason) for one in refusals] == [("spec.utilityVolumes[0]", "is not supported")]


def test_every_kind_of_volume_becomes_an_image_or_is_refused() -> None:
    kinds = {field.name for field in structs.fields(Volume)} - {"name"}
    assert kinds == {*KINDS, *WITHOUT_IMAGE}


def list_structs(annotation: Any, found: set[type[Model]]) -> set[type[Model]]:
    """Return all structs reachable from a field of this type."""
    if isclass(annotation) and issubclass(annotation, Model) and annotation not in found:
        found.add(annotation)
        for field in structs.fields(annotation):
            list_structs(field.type, found)
    for inner in get_args(annotation):
        list_structs(inner, found)
    return found


def test_every_struct_of_devices_and_networks_is_tested() -> None:
    reachable = list_structs(Devices, set()) | list_structs(Network, set())
    with_fields = {struct for struct in reachable if structs.fields(struct)}
    assert {struct.__name__ for struct in with_fields - set(STRUCTS)} == set(INSIDE_ANOTHER)
