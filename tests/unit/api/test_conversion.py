"""Objects are converted between all versions of their group without loss, and all revision payloads can be read."""

import base64
from itertools import pairwise, permutations
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.strategies import structs

from virtshape.api import codec
from virtshape.api.conversion import VERSIONS, PayloadError, convert_bytes, read_revision_payload
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model

INSTANCETYPE = "instancetype.kubevirt.io"
INSTANCETYPE_VERSIONS = VERSIONS[INSTANCETYPE]

KINDS: dict[str, tuple[type[Model], ...]] = {
    f"{INSTANCETYPE}/v1beta1": (v1beta1.VirtualMachineInstancetype, v1beta1.VirtualMachineClusterInstancetype),
    f"{INSTANCETYPE}/v1beta2": (
        v1beta2.VirtualMachineInstancetype,
        v1beta2.VirtualMachineClusterInstancetype,
        v1beta2.VirtualMachinePreference,
        v1beta2.VirtualMachineClusterPreference,
    ),
    "kubevirt.io/v1": (VirtualMachine, VirtualMachineInstance, KubeVirt),
}
OBJECTS = st.one_of(
    [
        structs(kind, api_version=api_version, kind=kind.__name__)
        for api_version, kinds in KINDS.items()
        for kind in kinds
    ]
)

with_large_objects = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def build_instancetype(version: str = "v1beta2", **spec: Any) -> v1beta2.VirtualMachineInstancetype:
    tree = {"apiVersion": f"{INSTANCETYPE}/{version}", "kind": "VirtualMachineInstancetype", "spec": spec}
    return codec.from_tree(tree, v1beta2.VirtualMachineInstancetype)


def build_preference(version: str = "v1beta2", **spec: Any) -> v1beta2.VirtualMachinePreference:
    tree = {"apiVersion": f"{INSTANCETYPE}/{version}", "kind": "VirtualMachinePreference", "spec": spec}
    return codec.from_tree(tree, v1beta2.VirtualMachinePreference)


@with_large_objects
@given(OBJECTS)
def test_encoded_object_decodes_to_the_same_object(obj: Model) -> None:
    assert codec.decode(codec.encode(obj), type(obj)) == obj
    assert codec.from_tree(codec.to_tree(obj), type(obj)) == obj


def convert(obj: Any, version: str) -> bytes:
    """Return the JSON of an object in another version of its group."""
    return convert_bytes(codec.encode(obj), f"{obj.api_version.partition('/')[0]}/{version}")


@with_large_objects
@given(OBJECTS, st.data())
def test_conversion_through_any_versions_and_back_changes_nothing(obj: Any, data: st.DataObject) -> None:
    group = obj.api_version.partition("/")[0]
    converted = codec.encode(obj)
    for stop in data.draw(st.lists(st.sampled_from(VERSIONS[group]), min_size=1)):
        converted = convert_bytes(converted, f"{group}/{stop}")
        assert msgspec.json.decode(converted) == {**codec.to_tree(obj), "apiVersion": f"{group}/{stop}"}
    assert convert_bytes(converted, obj.api_version) == codec.encode(obj)


@pytest.mark.parametrize(("source", "target"), list(permutations(INSTANCETYPE_VERSIONS, 2)))
def test_conversion_changes_only_the_api_version(source: str, target: str) -> None:
    spec = {"cpu": {"guest": 2}, "memory": {"guest": "3.3Gi", "overcommitPercent": 15}}
    assert convert(build_instancetype(source, **spec), target) == codec.encode(build_instancetype(target, **spec))


@pytest.mark.parametrize(("source", "target"), list(pairwise(INSTANCETYPE_VERSIONS)))
def test_conversion_preserves_deprecated_values(source: str, target: str) -> None:
    spec = {"cpu": {"preferredCPUTopology": "preferCores"}, "firmware": {"preferredUseEfi": True}}
    assert convert(build_preference(source, **spec), target) == codec.encode(build_preference(target, **spec))


@pytest.mark.parametrize("version", INSTANCETYPE_VERSIONS)
def test_instancetype_without_a_size_is_converted_unchanged_to_every_version(version: str) -> None:
    converted = convert(build_instancetype("v1beta2"), version)
    assert msgspec.json.decode(converted)["spec"] == {}


def test_instancetype_of_an_older_version_is_converted_to_the_stored_version() -> None:
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    older = codec.from_tree(
        {"apiVersion": f"{INSTANCETYPE}/v1alpha1", "kind": "VirtualMachineInstancetype", "spec": spec},
        v1beta1.VirtualMachineInstancetype,
    )
    converted = codec.decode(convert(older, "v1beta2"), v1beta2.VirtualMachineInstancetype)
    assert converted == build_instancetype("v1beta2", **spec)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b'{"apiVersion":"g/v1","kind":"K"}', b'{"apiVersion":"g/v2","kind":"K"}', id="first member"),
        pytest.param(b'{"kind":"K","apiVersion":"g/v1"}', b'{"kind":"K","apiVersion":"g/v2"}', id="later member"),
        pytest.param(b'{ "apiVersion" : "g/v1" }', b'{"apiVersion":"g/v2"}', id="spaces"),
        pytest.param(b'{"apiVersion":"g\\"/v1","a":1}', b'{"apiVersion":"g/v2","a":1}', id="escapes"),
        pytest.param(b'{"kind":"K"}', b'{"kind":"K","apiVersion":"g/v2"}', id="absent"),
        pytest.param(
            b'{"apiVersion":"g/v1","spec":{"apiVersion":"g/v1","n":1.50}}',
            b'{"apiVersion":"g/v2","spec":{"apiVersion":"g/v1","n":1.50}}',
            id="nested",
        ),
    ],
)
def test_only_the_top_level_api_version_is_rewritten(before: bytes, after: bytes) -> None:
    assert convert_bytes(before, "g/v2") == after


def encode_spec(spec: object) -> str:
    return base64.b64encode(msgspec.json.encode(spec)).decode()


SIZE: dict[str, Any] = {"cpu": {"guest": 1}, "memory": {"guest": "128Mi"}}


@pytest.mark.parametrize(
    "payload",
    [
        # The payload that KubeVirt's first documentation of instance types shows.
        pytest.param(
            {"apiVersion": "", "spec": "eyJjcHUiOnsiZ3Vlc3QiOjF9LCJtZW1vcnkiOnsiZ3Vlc3QiOiIxMjhNaSJ9fQ=="},
            id="spec without a version",
        ),
        pytest.param(
            {"apiVersion": f"{INSTANCETYPE}/v1alpha1", "spec": encode_spec(SIZE)},
            id="spec with a version",
        ),
        *(
            pytest.param(
                {"apiVersion": f"{INSTANCETYPE}/{version}", "kind": "VirtualMachineInstancetype", "spec": SIZE},
                id=f"object at {version}",
            )
            for version in INSTANCETYPE_VERSIONS
        ),
    ],
)
def test_every_revision_payload_decodes_to_the_stored_version(payload: object) -> None:
    assert read_revision_payload(payload, "VirtualMachineInstancetype") == build_instancetype(**SIZE)


def test_cluster_wide_revision_payload_is_accepted_for_a_namespaced_kind() -> None:
    payload = {"apiVersion": f"{INSTANCETYPE}/v1beta1", "kind": "VirtualMachineClusterInstancetype", "spec": SIZE}
    read = read_revision_payload(payload, "VirtualMachineInstancetype")
    assert codec.to_tree(read) == payload | {"apiVersion": f"{INSTANCETYPE}/v1beta2"}


def test_revision_payload_without_a_kind_is_decoded_as_the_requested_kind() -> None:
    payload = {"apiVersion": "", "spec": encode_spec({"devices": {"preferredDiskBus": "virtio"}})}
    expected = build_preference(devices={"preferredDiskBus": "virtio"})
    assert read_revision_payload(payload, "VirtualMachinePreference") == expected


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param({"apiVersion": "", "spec": encode_spec(SIZE)}, id="spec"),
        pytest.param(
            {"apiVersion": "flavor.kubevirt.io/v1alpha1", "kind": "VirtualMachineFlavor", "spec": SIZE},
            id="object",
        ),
    ],
)
def test_flavor_revision_payload_decodes_to_a_flavor(payload: object) -> None:
    expected = {"apiVersion": "flavor.kubevirt.io/v1alpha1", "kind": "VirtualMachineFlavor", "spec": SIZE}
    assert read_revision_payload(payload, "VirtualMachineFlavor") == codec.from_tree(
        expected, flavor.VirtualMachineFlavor
    )


def test_revision_payload_of_a_flavor_preference_is_decoded_in_the_flavor_group() -> None:
    payload = {"apiVersion": "flavor.kubevirt.io/v1alpha1", "kind": "VirtualMachinePreference", "spec": {}}
    read = read_revision_payload(payload, "VirtualMachinePreference")
    assert read == codec.from_tree(payload, flavor.VirtualMachinePreference)


UNEXPECTED = "unexpected type in ControllerRevision"
UNDECODABLE = "failed to decode object in ControllerRevision"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        pytest.param(None, UNEXPECTED, id="nothing"),
        pytest.param([], UNEXPECTED, id="list"),
        pytest.param({}, UNEXPECTED, id="empty"),
        pytest.param({"spec": SIZE}, UNEXPECTED, id="bare spec"),
        pytest.param({"apiVersion": "", "spec": "", "metadata": {}}, UNEXPECTED, id="spec with something else"),
        pytest.param({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine"}, UNEXPECTED, id="other kind"),
        pytest.param(
            {"apiVersion": f"{INSTANCETYPE}/v1", "kind": "VirtualMachineInstancetype"}, UNEXPECTED, id="other version"
        ),
        pytest.param(
            {"apiVersion": f"{INSTANCETYPE}/v1beta1", "kind": "VirtualMachinePreference", "spec": {}},
            UNEXPECTED,
            id="preference in place of an instance type",
        ),
        pytest.param({"apiVersion": "", "spec": "cpu"}, UNDECODABLE, id="not base64"),
        pytest.param({"apiVersion": "", "spec": "Y3B1"}, UNDECODABLE, id="not JSON in base64"),
        pytest.param({"apiVersion": "", "spec": encode_spec({"vcpus": 1})}, UNDECODABLE, id="unknown field in base64"),
        pytest.param(
            {"apiVersion": f"{INSTANCETYPE}/v1beta1", "kind": "VirtualMachineInstancetype", "spec": {"vcpus": 1}},
            UNDECODABLE,
            id="unknown field",
        ),
    ],
)
def test_invalid_revision_payload_is_rejected(payload: object, message: str) -> None:
    with pytest.raises(PayloadError, match=f"^{message}"):
        read_revision_payload(payload, "VirtualMachineInstancetype")
