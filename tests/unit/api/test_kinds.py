"""The table of kinds: lookup by name, and the struct of each kind."""

import subprocess
import sys
from collections import Counter

import pytest

from virtshape.api import codec
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kinds import KINDS, Kind, find_kind, find_resource
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.problems import DecodeError

IDS = [f"{kind.api_version} {kind.kind}" for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_each_kind_has_a_struct_with_the_same_name(kind: Kind) -> None:
    assert issubclass(kind.struct, Model)
    assert kind.struct.__name__ == kind.kind


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_kind_is_found_by_api_version_and_by_path(kind: Kind) -> None:
    assert find_kind(kind.api_version, kind.kind) is kind
    assert find_resource(kind.group, kind.version, kind.plural) is kind


def test_resource_names_are_unique() -> None:
    resources = {(kind.group, kind.plural): kind for kind in KINDS}.values()
    names = Counter(name for kind in resources for name in {kind.plural, kind.singular, *kind.short_names})
    assert [name for name, count in names.items() if count > 1] == []


NAMES: dict[str, tuple[str, str, str, str, str, bool]] = {
    "machine": ("kubevirt.io/v1", "VirtualMachine", "virtualmachines", "virtualmachine", "vm vms", True),
    "VM at an older version": (
        "kubevirt.io/v1alpha3",
        "VirtualMachine",
        "virtualmachines",
        "virtualmachine",
        "vm vms",
        True,
    ),
    "cluster preference": (
        "instancetype.kubevirt.io/v1alpha2",
        "VirtualMachineClusterPreference",
        "virtualmachineclusterpreferences",
        "virtualmachineclusterpreference",
        "vmcp vmcps",
        False,
    ),
    "preference of a flavor": (
        "flavor.kubevirt.io/v1alpha1",
        "VirtualMachinePreference",
        "virtualmachineflavorpreferences",
        "virtualmachineflavorpreference",
        "",
        True,
    ),
    "name that ends with s": ("storage.k8s.io/v1", "StorageClass", "storageclasses", "storageclass", "sc", False),
    "core": ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", "pvc", True),
}


@pytest.mark.parametrize(
    ("api_version", "name", "plural", "singular", "short_names", "namespaced"), NAMES.values(), ids=NAMES
)
def test_names_of_kinds_match_kubernetes_and_kubevirt(
    api_version: str, name: str, plural: str, singular: str, short_names: str, namespaced: bool
) -> None:
    kind = find_kind(api_version, name)
    assert kind is not None
    assert (kind.plural, kind.singular, " ".join(kind.short_names), kind.namespaced) == (
        plural,
        singular,
        short_names,
        namespaced,
    )


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1"])
def test_older_instancetype_versions_use_the_v1beta1_struct(version: str) -> None:
    kind = find_kind(f"instancetype.kubevirt.io/{version}", "VirtualMachineInstancetype")
    assert kind is not None
    assert kind.struct is v1beta1.VirtualMachineInstancetype
    assert kind.struct is not v1beta2.VirtualMachineInstancetype


def test_unknown_kind_is_not_found() -> None:
    assert find_kind("kubevirt.io/v1", "VirtualMachin") is None
    assert find_resource("kubevirt.io", "v2", "virtualmachines") is None


def test_kinds_module_imports_no_structs() -> None:
    code = "import sys, virtshape.api.kinds; print([name for name in sys.modules if 'api.kubevirt' in name])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_object_is_decoded_according_to_its_api_version_and_kind() -> None:
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"template": {}}}
    machine = codec.decode_object(codec.encode(tree))
    assert isinstance(machine, VirtualMachine)
    assert machine == codec.from_tree(tree, VirtualMachine)


UNKNOWN: dict[str, tuple[object, list[tuple[str, str, str]]]] = {
    "similar kind": (
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachin"},
        [
            (
                "kind",
                'unknown kind "VirtualMachin" in version "kubevirt.io/v1", did you mean "VirtualMachine"?',
                "unsupported-value",
            )
        ],
    ),
    "no similar kind": (
        {"apiVersion": "example.com/v1", "kind": "Foo"},
        [("kind", 'unknown kind "Foo" in version "example.com/v1"', "unsupported-value")],
    ),
    "wrong version": (
        {"apiVersion": "v2", "kind": "Secret"},
        [("apiVersion", 'Secret is not known in version "v2", only in "v1"', "unsupported-value")],
    ),
    "several versions": (
        {"apiVersion": "kubevirt.io/v2", "kind": "KubeVirt"},
        [
            (
                "apiVersion",
                'KubeVirt is not known in version "kubevirt.io/v2", only in "kubevirt.io/v1" or "kubevirt.io/v1alpha3"',
                "unsupported-value",
            )
        ],
    ),
    "neither": (
        {},
        [
            ("apiVersion", 'missing required field "apiVersion"', "missing-field"),
            ("kind", 'missing required field "kind"', "missing-field"),
        ],
    ),
    "wrong types": (
        {"apiVersion": 1, "kind": None},
        [
            ("apiVersion", "expected a string, got the integer 1", "wrong-type"),
            ("kind", 'missing required field "kind"', "missing-field"),
        ],
    ),
    "no object": ([], [("", "expected an object, got a list", "wrong-type")]),
}


@pytest.mark.parametrize(("tree", "problems"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_kind_is_rejected_with_a_suggestion_if_one_is_similar(
    tree: object, problems: list[tuple[str, str, str]]
) -> None:
    with pytest.raises(DecodeError) as refused:
        codec.decode_object(codec.encode(tree))
    assert [(cause.field, cause.message, cause.rule) for cause in refused.value.causes] == problems


def test_object_that_is_not_json_is_rejected() -> None:
    with pytest.raises(DecodeError, match="invalid JSON at line 1, column 1"):
        codec.decode_object(b"kind: Secret")
