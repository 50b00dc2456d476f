"""
Convert objects between versions of a group, and read objects that are stored in ControllerRevisions.

All versions of a group have the same fields, so only `apiVersion` changes.
"""

import base64
from typing import Any

import msgspec
from msgspec.structs import replace

from virtshape.api import codec
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.model import JsonObject, Model
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError

VERSIONS = {
    "instancetype.kubevirt.io": ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2"),
    "kubevirt.io": ("v1alpha3", "v1"),
}
"""The versions of each group that has several versions, from the oldest to the stored version."""

# All versions are decoded as v1beta2: older versions require CPU and memory, which stored instance types may omit.
_INSTANCETYPES: dict[str, type[Model]] = {
    "VirtualMachineClusterInstancetype": v1beta2.VirtualMachineClusterInstancetype,
    "VirtualMachineClusterPreference": v1beta2.VirtualMachineClusterPreference,
    "VirtualMachineInstancetype": v1beta2.VirtualMachineInstancetype,
    "VirtualMachinePreference": v1beta2.VirtualMachinePreference,
}
_FLAVORS: dict[str, type[Model]] = {
    "VirtualMachineClusterFlavor": flavor.VirtualMachineClusterFlavor,
    "VirtualMachineClusterPreference": flavor.VirtualMachineClusterPreference,
    "VirtualMachineFlavor": flavor.VirtualMachineFlavor,
    "VirtualMachinePreference": flavor.VirtualMachinePreference,
}
_STRUCTS = {f"instancetype.kubevirt.io/{version}": _INSTANCETYPES for version in VERSIONS["instancetype.kubevirt.io"]}
_STRUCTS["flavor.kubevirt.io/v1alpha1"] = _FLAVORS
_STORED_INSTANCETYPES = f"instancetype.kubevirt.io/{VERSIONS['instancetype.kubevirt.io'][-1]}"

_OPENING = b'{"apiVersion":"'
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class PayloadError(StatusError):
    """The data of a ControllerRevision is not the expected object."""

    def __init__(self, message: str) -> None:
        super().__init__(422, "Invalid", message)


def convert_bytes(data: bytes, api_version: str) -> bytes:
    """Replace `apiVersion` in an object's JSON text and leave the rest unchanged."""
    if data.startswith(_OPENING):  # stored objects start with apiVersion
        end = data.index(b'"', len(_OPENING))
        if b"\\" not in data[len(_OPENING) : end]:
            return b"".join((_OPENING, api_version.encode(), memoryview(data)[end:]))
    members = _members.decode(data)
    members["apiVersion"] = msgspec.Raw(msgspec.json.encode(api_version))
    return msgspec.json.encode(members)


def read_revision_payload(data: Any, kind: str) -> Model:
    """Return a ControllerRevision's object of this kind, in the stored version; raise PayloadError if it is invalid."""
    tree = _complete(data, kind)
    structs, found = _STRUCTS.get(tree["apiVersion"], {}), tree["kind"]
    if found not in structs or _without_scope(found) != _without_scope(kind):
        raise PayloadError(f"unexpected type in ControllerRevision: {tree['apiVersion']} {found}, expected a {kind}")
    try:
        obj = codec.from_tree(tree, structs[found])
    except DecodeError as error:
        raise PayloadError(f"failed to decode object in ControllerRevision: {error}") from error
    return replace(obj, api_version=_STORED_INSTANCETYPES) if structs is _INSTANCETYPES else obj


def drop_zero_sizes(spec: v1beta2.VirtualMachineInstancetypeSpec) -> v1beta2.VirtualMachineInstancetypeSpec:
    """Return the spec without sizes of 0, which Go clients write for unset sizes in versions before v1beta2."""
    cpu, memory = spec.cpu, spec.memory
    if cpu is not None and cpu.guest == 0:
        spec = replace(spec, cpu=replace(cpu, guest=None))
    if memory is not None and memory.guest is not None and memory.guest.is_zero():
        open_size = msgspec.convert(memory, v1beta2.MemoryInstancetype, from_attributes=True)
        spec = replace(spec, memory=replace(open_size, guest=None))
    return spec


def read_payload_version(data: Any, kind: str) -> str:
    """Return the apiVersion of the object of this kind in a ControllerRevision."""
    api_version: str = _complete(data, kind)["apiVersion"]
    return api_version


def _complete(data: Any, kind: str) -> JsonObject:
    match data:
        case {"apiVersion": str(), "kind": str()}:
            return dict(data)
        case {"apiVersion": str(api_version), "spec": str(encoded), **others} if not others:
            return {"apiVersion": api_version or _guess_api_version(kind), "kind": kind, "spec": _decode_spec(encoded)}
        case _:
            raise PayloadError(f"unexpected type in ControllerRevision: neither a {kind} nor the spec of one")


def _guess_api_version(kind: str) -> str:
    # Payloads without a version were written when each group had only this version.
    return "instancetype.kubevirt.io/v1alpha1" if kind in _INSTANCETYPES else "flavor.kubevirt.io/v1alpha1"


def _decode_spec(encoded: str) -> object:
    try:
        return msgspec.json.decode(base64.b64decode(encoded, validate=True))
    except (ValueError, msgspec.DecodeError) as error:
        raise PayloadError(f"failed to decode object in ControllerRevision: spec: {error}") from error


def _without_scope(kind: str) -> str:
    return kind.replace("Cluster", "")
