"""Our kinds have every field of KubeVirt's kinds with the same type, and only the additions listed here."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.schema import structural_schema

KINDS: dict[str, type[Struct]] = {
    "v1.KubeVirt": KubeVirt,
    "v1.VirtualMachine": VirtualMachine,
    "v1.VirtualMachineInstance": VirtualMachineInstance,
    "v1beta1.VirtualMachineClusterInstancetype": v1beta1.VirtualMachineClusterInstancetype,
    "v1beta1.VirtualMachineClusterPreference": v1beta1.VirtualMachineClusterPreference,
    "v1beta1.VirtualMachineInstancetype": v1beta1.VirtualMachineInstancetype,
    "v1beta1.VirtualMachinePreference": v1beta1.VirtualMachinePreference,
}

ADDITIONS = {
    "v1.CPU.guest: ours alone",
    "v1.InstancetypeConfiguration.missingReference: ours alone",
    "v1.InstancetypeConfiguration.revisionName: ours alone",
    "v1.InstancetypeConfiguration.revisionSharing: ours alone",
    "v1.VirtualMachineSpec.flavor: ours alone",
    "v1.VirtualMachineStatus.effective: ours alone",
    "v1.VirtualMachineStatus.flavorRef: ours alone",
    "v1beta1.CPUInstancetype.guest: optional, not required",  # an instance type may have a topology instead
    "v1beta1.CPUInstancetype.limits: ours alone",
    "v1beta1.CPUInstancetype.topology: ours alone",
    "v1beta1.DataVolumeSourceHTTP.checksum: ours alone",  # added in newer versions of CDI
    "v1beta1.MemoryInstancetype.limits: ours alone",
}
OPTIONAL_SIZES = {
    "v1beta1.MemoryInstancetype.guest: optional, not required",
    "v1beta1.VirtualMachineInstancetypeSpec.cpu: optional, not required",
    "v1beta1.VirtualMachineInstancetypeSpec.memory: optional, not required",
}

# KubeVirt's types are unsigned integers and 32-bit floats here; ours are wider and accept all of their values.
WIDER_NUMBERS = {
    "v1.ComponentConfig.replicas",
    "v1.CustomBlockSize.discardGranularity",
    "v1.CustomBlockSize.logical",
    "v1.CustomBlockSize.physical",
    "v1.Disk.bootOrder",
    "v1.Interface.bootOrder",
    "v1.TokenBucketRateLimiter.qps",
}

SCALARS: dict[str, JsonObject] = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": {"x-kubernetes-int-or-string": True},
    "k8s.io.apimachinery.pkg.apis.meta.v1.Duration": {"type": "string"},
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1": {"type": "object"},
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time": {"type": "string"},
}


@pytest.fixture(scope="module")
def reference() -> JsonObject:
    if "VIRTSHAPE_REFERENCE" not in os.environ:
        pytest.skip("VIRTSHAPE_REFERENCE is not the path of a folder with kubevirt-openapi.json")
    document = json.loads(Path(os.environ["VIRTSHAPE_REFERENCE"], "kubevirt-openapi.json").read_text())
    definitions: JsonObject = document["definitions"]
    return definitions


@pytest.mark.parametrize("name", KINDS)
def test_kind_differs_from_kubevirt_only_in_the_listed_additions(name: str, reference: JsonObject) -> None:
    assert find_differences(reference, name, KINDS[name]) - ADDITIONS == set()


@pytest.mark.parametrize("name", ["VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"])
def test_stored_version_differs_from_kubevirt_only_in_optional_sizes(name: str, reference: JsonObject) -> None:
    found = find_differences(reference, f"v1beta1.{name}", getattr(v1beta2, name))
    assert found - ADDITIONS == OPTIONAL_SIZES


def test_every_listed_addition_to_kubevirts_api_exists(reference: JsonObject) -> None:
    found = {difference for name, kind in KINDS.items() for difference in find_differences(reference, name, kind)}
    assert found >= ADDITIONS


def find_differences(definitions: JsonObject, name: str, kind: type[Struct]) -> set[str]:
    ours = structural_schema(kind)
    del ours["properties"]["metadata"]  # only the schema of a VM's template contains metadata
    missing = {f"{name}.metadata: missing"}
    return set(_compare_objects(definitions, name, ours)) - missing


def _compare_objects(definitions: JsonObject, name: str, ours: JsonObject) -> Iterator[str]:
    theirs = definitions[name]
    wanted, found = theirs.get("properties", {}), ours.get("properties", {})
    yield from (f"{name}.{field}: missing" for field in wanted.keys() - found.keys())
    yield from (f"{name}.{field}: ours alone" for field in found.keys() - wanted.keys())
    must, demanded = set(theirs.get("required", ())), set(ours.get("required", ()))
    yield from (f"{name}.{field}: optional, not required" for field in (must - demanded) & found.keys())
    yield from (f"{name}.{field}: required, not optional" for field in (demanded - must) & wanted.keys())
    for key in ("type", "x-kubernetes-map-type"):
        if theirs.get(key) != ours.get(key):
            yield f"{name}: {key} {ours.get(key)}, not {theirs.get(key)}"
    for field in wanted.keys() & found.keys():
        yield from _compare(definitions, f"{name}.{field}", wanted[field], found[field])


def _compare(definitions: JsonObject, path: str, theirs: JsonObject, ours: JsonObject) -> Iterator[str]:
    target = theirs.get("$ref", "").removeprefix("#/definitions/")
    if target and target not in SCALARS:
        yield from _compare_objects(definitions, target, ours)
        return
    wanted, found = _outline(SCALARS.get(target, theirs)), _outline(ours)
    if path in WIDER_NUMBERS:
        del wanted["format"], found["format"]
    if wanted != found:
        yield f"{path}: {found}, not {wanted}"
    for inner in ("items", "additionalProperties"):
        if inner in theirs and inner in ours:
            yield from _compare(definitions, path, theirs[inner], ours[inner])


def _outline(schema: JsonObject) -> JsonObject:
    """Return the parts of a schema that must match, without its children."""
    names = schema.get("type", "any")
    named = {"type": names} if isinstance(names, str) else {"type": names[0]}
    if "x-kubernetes-int-or-string" in schema or (isinstance(names, list) and "number" in names):
        return {"type": "int or string"}
    if named["type"] == "array":
        list_type = schema.get("x-kubernetes-list-type", "atomic")
        return named | {"list type": list_type, "keys": schema.get("x-kubernetes-list-map-keys", [])}
    if named["type"] in ("integer", "number"):
        return named | {"format": schema["format"]}
    if named["type"] == "object":
        return named | {"is a map": "additionalProperties" in schema}
    return named | ({"enum": sorted(schema["enum"])} if "enum" in schema else {})
