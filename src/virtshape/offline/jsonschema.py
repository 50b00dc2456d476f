"""
JSON Schema (draft 7) of VMs and related kinds, for completion, descriptions and checks in editors.

Types and descriptions come from the structs, as in the CRDs. Unknown fields are rejected. If admission accepts only
certain values of a field, the schema does so too; for some other fields it suggests values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, inspect

from virtshape.admission import datavolume, matchervalidation
from virtshape.admission.rules import (
    clock,
    cpu,
    devices,
    disks,
    interfaces,
    kubevirtsettings,
    ports,
    virtualmachine,
    vmi,
)
from virtshape.api.kinds import KINDS, Kind
from virtshape.api.model import JsonObject
from virtshape.api.openapi import component_name, struct_name
from virtshape.api.schema import WriteStruct, write_kind, write_struct
from virtshape.engine.topology import ACROSS, DEPRECATED_TOPOLOGIES, TOPOLOGIES
from virtshape.offline.files import affects_vms
from virtshape.resolve.matcher import KINDS as MATCHER_KINDS

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
UNCHECKED: Final[Mapping[str, Sequence[str]]] = {
    "cdi.kubevirt.io": (
        "CDI",
        "DataImportCron",
        "ObjectTransfer",
        "StorageProfile",
        "VolumeCloneSource",
        "VolumeImportSource",
        "VolumeUploadSource",
    ),
    "kubevirt.io": (
        "VirtualMachineInstanceMigration",
        "VirtualMachineInstancePreset",
        "VirtualMachineInstanceReplicaSet",
    ),
}
"""Kinds of KubeVirt and CDI that virtshape does not serve, by group; the schema of all kinds accepts them."""

_SETTINGS: Final = dict(kubevirtsettings.CHOICES)
_REFERENCE: Final = "#/definitions/"

ENUMS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("VirtualMachineSpec", "runStrategy"): virtualmachine.RUN_STRATEGIES,
    ("VirtualMachineSpec", "updateVolumesStrategy"): virtualmachine.VOLUME_STRATEGIES,
    ("InstancetypeMatcher", "inferFromVolumeFailurePolicy"): matchervalidation.POLICIES,
    ("PreferenceMatcher", "inferFromVolumeFailurePolicy"): matchervalidation.POLICIES,
    ("VirtualMachineInstanceSpec", "architecture"): vmi.ARCHITECTURES,
    ("VirtualMachineInstanceSpec", "evictionStrategy"): vmi.EVICTION_STRATEGIES,
    ("VirtualMachineInstanceSpec", "startStrategy"): ("Paused",),
    ("DomainSpec", "ioThreadsPolicy"): vmi.IO_THREADS_POLICIES,
    ("CPUFeature", "policy"): cpu.POLICIES,
    ("DiskTarget", "bus"): disks.BUSES,
    ("CDRomTarget", "bus"): disks.BUSES,
    ("LunTarget", "bus"): disks.BUSES,
    ("Disk", "cache"): disks.CACHES,
    ("Disk", "io"): disks.IO_MODES,
    ("Disk", "errorPolicy"): disks.ERROR_POLICIES,
    ("Interface", "model"): interfaces.MODELS,
    ("Interface", "state"): interfaces.STATES,
    ("Port", "protocol"): ports.PROTOCOLS,
    ("Input", "bus"): devices.INPUT_BUSES,
    ("Input", "type"): ("tablet",),
    ("SoundDevice", "model"): devices.SOUND_MODELS,
    ("VideoDevice", "type"): devices.VIDEO_TYPES,
    ("PanicDevice", "model"): devices.PANIC_MODELS,
    ("I6300ESBWatchdog", "action"): devices.WATCHDOG_ACTIONS,
    ("Diag288Watchdog", "action"): devices.WATCHDOG_ACTIONS,
    ("HPETTimer", "tickPolicy"): clock.TICK_POLICIES["hpet"],
    ("PITTimer", "tickPolicy"): clock.TICK_POLICIES["pit"],
    ("RTCTimer", "tickPolicy"): clock.TICK_POLICIES["rtc"],
    ("CPUPreferences", "preferredCPUTopology"): (*TOPOLOGIES, *DEPRECATED_TOPOLOGIES),
    ("SpreadOptions", "across"): ACROSS,
    ("DataVolumeSpec", "contentType"): datavolume.CONTENT_TYPES,
    ("KubeVirtConfiguration", "evictionStrategy"): _SETTINGS["evictionStrategy"],
    ("KubeVirtConfiguration", "vmRolloutStrategy"): _SETTINGS["vmRolloutStrategy"],
    ("InstancetypeConfiguration", "referencePolicy"): _SETTINGS["instancetype.referencePolicy"],
    ("NetworkConfiguration", "defaultNetworkInterface"): _SETTINGS["network.defaultNetworkInterface"],
    ("ArchConfiguration", "defaultArchitecture"): _SETTINGS["architectureConfiguration.defaultArchitecture"],
}
"""Valid values of fields, by struct and JSON name; admission rejects all other values."""

SUGGESTIONS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("InstancetypeMatcher", "kind"): MATCHER_KINDS["instancetype"][1:],
    ("PreferenceMatcher", "kind"): MATCHER_KINDS["preference"][1:],
    ("FlavorMatcher", "kind"): MATCHER_KINDS["flavor"][1:],
    ("DevicePreferences", "preferredDiskBus"): disks.BUSES,
    ("DevicePreferences", "preferredCdromBus"): disks.BUSES,
    ("DevicePreferences", "preferredLunBus"): disks.BUSES,
    ("DevicePreferences", "preferredDiskCache"): disks.CACHES,
    ("DevicePreferences", "preferredDiskIO"): disks.IO_MODES,
    ("DevicePreferences", "preferredInterfaceModel"): interfaces.MODELS,
    ("DevicePreferences", "preferredInputBus"): devices.INPUT_BUSES,
    ("DevicePreferences", "preferredSoundModel"): devices.SOUND_MODELS,
    ("DevicePreferences", "preferredVideoType"): devices.VIDEO_TYPES,
    ("DevicePreferences", "preferredPanicDeviceModel"): devices.PANIC_MODELS,
    ("VirtualMachinePreferenceSpec", "preferredArchitecture"): vmi.ARCHITECTURES,
}
"""Values to suggest for fields that also accept other values."""


def list_kinds(name: str = "", api_version: str = "") -> list[Kind]:
    """
    Return the kinds with this name (in any spelling that kubectl accepts) and this API version, if given.

    Without a name, return all kinds that affect VMs.
    """
    return [
        kind
        for kind in KINDS
        if (_is_named(kind, name.lower()) if name else affects_vms(kind)) and api_version in ("", kind.api_version)
    ]


def _is_named(kind: Kind, name: str) -> bool:
    return name in (kind.kind.lower(), kind.singular, kind.plural, *kind.short_names)


def build_schema(kinds: Sequence[Kind], *, others: bool = False) -> JsonObject:
    """Return a schema that accepts objects of these kinds; with `others`, also objects of other groups, and Lists."""
    definitions: dict[str, JsonObject] = {}

    def refer(struct: inspect.StructType) -> JsonObject:
        name = struct_name(struct.cls)
        if name not in definitions:
            definitions[name] = {}  # a struct may contain itself
            definitions[name] = _write(struct.cls, write_struct(struct, refer))
        return {"allOf": [{"$ref": f"{_REFERENCE}{name}"}]}  # validators ignore a description next to a bare $ref

    rules = []
    for kind in kinds:
        name = component_name(kind)
        definitions[name] = _write_kind(kind, refer)
        rules.append({"if": _match(kind.api_version, kind.kind), "then": {"$ref": f"{_REFERENCE}{name}"}})
    names = _describe_names(kinds)
    if others:
        own = [kind for kind in kinds if kind.group.endswith("kubevirt.io")]
        rules += [*_match_groups(own), *_match_names(own)]
        items = {"type": "array", "items": {"$ref": "#"}}
        rules.append({"if": _match("v1", "List"), "then": {"properties": {"items": items}}})
        names = {name: _suggest(schema) for name, schema in names.items()}
    return {
        "$schema": DRAFT,
        "title": kinds[0].kind if len({kind.kind for kind in kinds}) == 1 else "VMs, instance types and preferences",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": names,
        "allOf": rules,
        "definitions": dict(sorted(definitions.items())),
    }


def _describe_names(kinds: Sequence[Kind], unchecked: Sequence[str] = ()) -> JsonObject:
    versions = list(dict.fromkeys(kind.api_version for kind in kinds))
    names = list(dict.fromkeys([*(kind.kind for kind in kinds), *unchecked]))
    return {
        "apiVersion": {"description": "The API group and version of this object.", "type": "string", "enum": versions},
        "kind": {"description": "The kind of this object.", "type": "string", "enum": names},
    }


def _match_groups(kinds: Sequence[Kind]) -> Iterator[JsonObject]:
    """Yield a rule for each group that allows only the versions and kinds of the group."""
    for group in dict.fromkeys(kind.group for kind in kinds):
        members = [kind for kind in kinds if kind.group == group]
        condition = {"properties": {"apiVersion": {"pattern": f"^{re.escape(group)}/"}}, "required": ["apiVersion"]}
        yield {"if": condition, "then": {"properties": _describe_names(members, UNCHECKED.get(group, ()))}}


def _match_names(kinds: Sequence[Kind]) -> Iterator[JsonObject]:
    """Yield a rule for each kind that allows the kind only in its API versions."""
    for name in dict.fromkeys(kind.kind for kind in kinds):
        versions = [kind.api_version for kind in kinds if kind.kind == name]
        condition = {"properties": {"kind": {"const": name}}, "required": ["kind"]}
        yield {"if": condition, "then": {"properties": {"apiVersion": {"enum": versions}}}}


def _match(api_version: str, kind: str) -> JsonObject:
    return {
        "properties": {"apiVersion": {"const": api_version}, "kind": {"const": kind}},
        "required": ["apiVersion", "kind"],
    }


def _write_kind(kind: Kind, refer: WriteStruct) -> JsonObject:
    schema = _write(kind.struct, write_kind(kind.struct, refer))
    schema["properties"] |= {"apiVersion": {"const": kind.api_version}, "kind": {"const": kind.kind}}
    return schema


def _write(struct: type[Struct], schema: JsonObject) -> JsonObject:
    """Return the schema of a struct, which rejects unknown fields, with the enums and suggestions for its fields."""
    converted: JsonObject = _convert(schema)
    for name, field in converted.get("properties", {}).items():
        at = struct.__name__, name
        if at in ENUMS:
            field["enum"] = list(ENUMS[at])
        elif at in SUGGESTIONS:
            converted["properties"][name] = _suggest(field | {"enum": list(SUGGESTIONS[at])})
        elif name == "creationTimestamp":
            field["type"] = ["string", "null"]  # `kubectl create --dry-run=client -o yaml` prints null
    return converted


def _suggest(schema: JsonObject) -> JsonObject:
    """Return a schema that suggests the values of an enum and accepts all strings."""
    rest = {key: value for key, value in schema.items() if key not in ("enum", "type")}
    return {**rest, "anyOf": [{"type": "string", "enum": schema["enum"]}, {"type": "string"}]}


def _convert(schema: JsonObject) -> JsonObject:
    """Return a structural schema as JSON Schema, which has no Kubernetes extensions and rejects unknown fields."""
    converted = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if converted.get("format") == "int32":
        converted |= {"minimum": -(2**31), "maximum": 2**31 - 1}
    if converted.get("format") in ("int32", "int64", "double", "byte"):
        del converted["format"]
    if "properties" in schema:
        converted["properties"] = {name: _convert(field) for name, field in schema["properties"].items()}
    if "items" in schema:
        converted["items"] = _convert(schema["items"])
    extra: Any = schema.get("additionalProperties")
    if isinstance(extra, dict):
        converted["additionalProperties"] = _convert(extra)
    elif converted.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        converted["additionalProperties"] = False
    return converted
