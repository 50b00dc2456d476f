"""
Random inputs ("questions") for conformance tests, in the format of the recorded vectors, each determined by a seed.

Objects are generated from the structs. Values come from small sets, so that VM, instance type and preference often set
the same field, name the same device or just meet a requirement.
"""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any, Final

from msgspec import Struct, inspect

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject

LABEL: Final = "instancetype.kubevirt.io/default-"
NAMES: Final = ("a", "b", "c")
NUMBERS: Final = (0, 1, 2, 3, 4, 6, 8, 12)
QUANTITIES: Final = ("0", "1", "500m", "64Mi", "1Gi", "1024Mi", "1.5Gi", "2G", "3.3Gi", "1e9", "4Gi")
TOPOLOGIES: Final = ("sockets", "cores", "threads", "spread", "any")

STRINGS: Final[dict[str, Sequence[str]]] = {
    "across": ("SocketsCores", "CoresThreads", "SocketsCoresThreads", "SocketsCores", "elsewhere"),
    "architecture": ("amd64", "arm64", "s390x"),
    "bootloader": ("",),
    "bus": ("virtio", "sata", "scsi", ""),
    "ioThreadsPolicy": ("shared", "auto", "supplementalPool"),
    "kind": ("VirtualMachineInstancetype", "virtualmachineclusterpreference", ""),
    "model": ("host-model", "virtio", ""),
    "pageSize": ("2Mi", "1Gi"),
    "policy": ("require", "optional", ""),
    "preferredArchitecture": ("amd64", "arm64", ""),
    "preferredCPUTopology": (*TOPOLOGIES, *(f"prefer{name.capitalize()}" for name in TOPOLOGIES)),
    "type": ("q35", "virt", ""),
}
"""Values of fields that are compared with other fields or with constants; other fields have short names as values."""

FOREIGN: Final = {
    "affinity",
    "creationTimestamp",
    "deletionTimestamp",
    "dnsConfig",
    "livenessProbe",
    "managedFields",
    "readinessProbe",
    "resourceClaims",
    "tolerations",
    "topologySpreadConstraints",
}
"""Fields that are omitted because they are large and independent of instance types and preferences."""

LATER: Final = {
    ("CPU", "guest"),
    ("CPUInstancetype", "topology"),
    ("CPUInstancetype", "limits"),
    ("MemoryInstancetype", "limits"),
    ("DevicePreferences", "preferredPanicDeviceModel"),
    ("DevicePreferences", "preferredVideoType"),
    ("Interface", "portRanges"),
    ("Network", "resourceClaim"),
    ("VirtualMachineInstanceSpec", "serviceAccountName"),
    ("VirtualMachinePreferenceSpec", "preferredLaunchSecurity"),
}
"""Fields that the KubeVirt version in tests/kubevirt/go.mod does not have."""

IGNORED: Final = {("DevicePreferences", "preferredVirtualGPUOptions")}
"""Fields that virtshape applies, and that KubeVirt has but never applies."""

KEPT: Final = {"cpu", "memory", "guest", "name", "deviceName", "policy"}
"""Required fields of instance types and preferences."""

ZERO: Final = (0, "", False)
SYNONYMS: Final = {"1Gi": "1024Mi", "1024Mi": "1Gi", "1e9": "1G", "2G": "2000M"}

VALID_SPEC: Final[JsonObject] = {
    "domain": {
        "memory": {"guest": "1Gi"},
        "devices": {
            "disks": [{"name": "a", "disk": {"bus": "virtio"}}],
            "interfaces": [{"name": "n", "masquerade": {}}],
        },
    },
    "networks": [{"name": "n", "pod": {}}],
    "volumes": [{"name": "a", "containerDisk": {"image": "demo:1"}}],
}
GATES: Final = (
    "DownwardMetrics",
    "EnableVirtioFsStorageVolumes",
    "GPUsWithDRA",
    "HostDevices",
    "HostDevicesWithDRA",
    "HostDisk",
    "PanicDevices",
    "RebootPolicy",
    "ReservedOverheadMemlock",
    "SecureExecution",
    "VSOCK",
    "VideoConfig",
    "WorkloadEncryptionSEV",
    "WorkloadEncryptionTDX",
)
PERMISSIVE: Final[JsonObject] = {
    "developerConfiguration": {"featureGates": GATES},
    "permittedHostDevices": {
        "pciHostDevices": [{"pciVendorSelector": "8086:1", "resourceName": name} for name in NAMES]
    },
}
"""Configuration that permits all devices of the cases and enables all gates in docs/feature-gates.md."""


def _merge(one: Any, other: Any) -> Any:
    """Return both trees merged; members of `other` take precedence."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return one | {key: _merge(one.get(key), value) for key, value in other.items()}


@cache
def _type_info(struct: type[Struct]) -> inspect.StructType:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return info


class Cases:
    """Generates random test cases from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a test

    def draw(self, op: str) -> JsonObject:
        """Return random input for an operation."""
        return DRAWS[op](self)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def struct(self, struct: type[Struct], share: float = 0.3) -> JsonObject:
        """Return a random tree for a struct; `share` is the probability that an optional field is set."""
        return self._struct(_type_info(struct), share)

    def _struct(self, info: inspect.StructType, share: float) -> JsonObject:
        tree = {}
        for field in info.fields:
            name = field.encode_name
            if name in FOREIGN or (info.cls.__name__, name) in LATER | IGNORED:
                continue
            if field.required or name == "name" or self.chance(share):
                tree[name] = self._value(field.type, name, share * 0.85)
        return tree

    def _value(self, info: inspect.Type, name: str, share: float) -> Any:
        match info:
            case inspect.Metadata(type=inner):
                return self._value(inner, name, share)
            case inspect.UnionType(types=types):
                return self._value(self.pick([t for t in types if not isinstance(t, inspect.NoneType)]), name, share)
            case inspect.StructType():
                return self._struct(info, share)
            case inspect.ListType(item_type=item):
                return [self._value(item, name, share) for _ in range(self.pick((0, 1, 1, 2)))]
            case inspect.DictType(value_type=value):
                return {key: self._value(value, name, share) for key in NAMES[: self.pick((0, 1, 1, 2))]}
            case inspect.LiteralType(values=values):
                return self.pick(values)
            case inspect.IntType():
                return self.pick(NUMBERS[1:] if name == "ratio" else NUMBERS)  # a ratio of 0 crashes KubeVirt
            case inspect.BoolType():
                return self.chance(0.5)
            case inspect.CustomType():
                return self.pick(QUANTITIES)
            case inspect.StrType():
                return self.pick(STRINGS.get(name, NAMES))
            case _:
                return {}

    def instancetype_spec(self) -> JsonObject:
        spec = self.struct(VirtualMachineInstancetypeSpec, 0.25)
        memory = {**spec.get("memory", {}), "guest": self.pick(QUANTITIES[3:])}
        if self.chance(0.8):
            memory.pop("hugepages", None)
        return {**spec, "cpu": {**spec.get("cpu", {}), "guest": self.pick(NUMBERS[1:])}, "memory": memory}

    def preference_spec(self) -> JsonObject:
        spec = self.struct(VirtualMachinePreferenceSpec, 0.35)
        if self.chance(0.5):
            spec.setdefault("cpu", {})["preferredCPUTopology"] = self.pick(STRINGS["preferredCPUTopology"])
        return spec

    def vmi_spec(self, share: float = 0.3) -> JsonObject:
        spec = self.struct(VirtualMachineInstanceSpec, share)
        domain = spec["domain"]
        domain.setdefault("devices", {})
        if self.chance(0.6):  # otherwise nearly every VM would conflict with its instance type
            for name in ("cpu", "memory", "resources", "ioThreads", "ioThreadsPolicy", "launchSecurity"):
                domain.pop(name, None)
            for name in ("gpus", "hostDevices"):
                domain["devices"].pop(name, None)
            for name in ("nodeSelector", "schedulerName"):
                spec.pop(name, None)
        return spec

    def specs(self) -> JsonObject:
        question: JsonObject = {"vmiSpec": self.vmi_spec()}
        if self.chance(0.8):
            question["instancetypeSpec"] = self.instancetype_spec()
        if self.chance(0.8):
            question["preferenceSpec"] = self.preference_spec()
        if self.chance(0.3):
            question["vmiMetadata"] = {"annotations": {name: self.pick(NAMES) for name in NAMES[: self.pick((1, 2))]}}
        return question

    def labels(self) -> JsonObject:
        """Return the labels of a volume that inference reads; each may be missing."""
        return {
            f"{LABEL}{name}": self.pick(values)
            for name, values in {
                "instancetype": NAMES[:2],
                "instancetype-kind": ("VirtualMachineInstancetype", "virtualmachineclusterinstancetypes", "Other"),
                "preference": NAMES[:2],
                "preference-kind": ("VirtualMachinePreference", "virtualmachineclusterpreference"),
            }.items()
            if self.chance(0.7)
        }

    def objects(self, share: float = 0.85) -> list[JsonObject]:
        """Return namespaced and cluster-wide objects that VMs refer to; each exists with the probability `share`."""
        found = []
        for kind, draw in (("Instancetype", self.instancetype_spec), ("Preference", self.preference_spec)):
            for scope in ("", "Cluster"):
                found += [
                    {
                        "apiVersion": "instancetype.kubevirt.io/v1beta1",
                        "kind": f"VirtualMachine{scope}{kind}",
                        "metadata": {"name": name, **({} if scope else {"namespace": "prod"})},
                        "spec": draw(),
                    }
                    for name in NAMES[:2]
                    if self.chance(share)
                ]
        return found

    def source(self) -> JsonObject:
        """Return the part of a DataVolume's spec that says where its content comes from."""
        source: JsonObject = self.pick(
            (
                {"source": {"pvc": {"name": self.pick(NAMES), "namespace": self.pick(("prod", "other"))}}},
                {"source": {"blank": {}}},
                {"sourceRef": {"kind": self.pick(("DataSource", "datasource")), "name": self.pick(NAMES)}},
                {"sourceRef": {"kind": "DataSource", "name": self.pick(NAMES), "namespace": "other"}},
                {},
            )
        )
        return source

    def volumes(self) -> list[JsonObject]:
        """Return claims, DataVolumes and DataSources, some with labels."""
        found = []
        for namespace in ("prod", "other"):
            for name in NAMES:
                metadata = {"name": name, "namespace": namespace}
                if self.chance(0.8):
                    found.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {}})
                    found[-1]["metadata"] = {**metadata, "labels": self.labels()}
                if self.chance(0.4):
                    found.append({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "spec": self.source()})
                    found[-1]["metadata"] = {**metadata, "labels": self.labels()}
                if self.chance(0.8):
                    pvc = {"pvc": {"name": self.pick(NAMES), "namespace": self.pick(("prod", "other"))}}
                    source = self.pick((pvc, pvc, {}))
                    found.append({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource"})
                    found[-1] |= {"spec": {"source": source}, "metadata": {**metadata, "labels": self.labels()}}
        return found

    def matcher(self, role: str, infer: float) -> JsonObject:
        if self.chance(infer):
            policy = {"inferFromVolumeFailurePolicy": self.pick(("Ignore", "Reject"))} if self.chance(0.5) else {}
            return {"inferFromVolume": self.pick(("a", "a", "b", "b", "c")), **policy}
        kinds = (
            f"VirtualMachine{role.capitalize()}",
            f"virtualmachinecluster{role}s",
            f"VIRTUALMACHINE{role.upper()}S",
        )
        kind = {"kind": self.pick(kinds)} if self.chance(0.6) else {}
        return {"name": self.pick(NAMES[:2]), **kind}

    def vm(self, infer: float = 0.0) -> JsonObject:
        spec: JsonObject = {"runStrategy": "Always", "template": {"spec": self.vmi_spec()}}
        for role in ("instancetype", "preference"):
            if self.chance(0.9):
                spec[role] = self.matcher(role, infer)
        if infer:
            spec["template"]["spec"]["volumes"] = [
                {
                    "name": name,
                    **self.pick(
                        (
                            {"persistentVolumeClaim": {"claimName": self.pick(NAMES)}},
                            {"dataVolume": {"name": self.pick(NAMES)}},
                            {"dataVolume": {"name": self.pick(NAMES)}},
                            {"containerDisk": {"image": "demo"}},
                        )
                    ),
                }
                for name in NAMES[:2]
            ]
            if self.chance(0.4):
                template = {"metadata": {"name": self.pick(NAMES)}, "spec": {"storage": {}, **self.source()}}
                spec["dataVolumeTemplates"] = [template]
        metadata = {"name": "vm", "namespace": "prod"}
        return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}

    def vm_and_objects(self) -> JsonObject:
        question: JsonObject = {"vm": self.vm(), "objects": self.objects()}
        if self.chance(0.2):
            question["configuration"] = self.pick(
                (
                    {"network": {"defaultNetworkInterface": self.pick(("masquerade", "bridge"))}},
                    {"evictionStrategy": "LiveMigrate"},
                    {"cpuRequest": "250m"},
                    {"cpuModel": "Haswell"},
                    {"architectureConfiguration": {"amd64": {"machineType": "pc"}}},
                )
            )
        return question

    def inference(self) -> JsonObject:
        return {"vm": self.vm(infer=0.8), "objects": self.volumes()}

    def expansion(self) -> JsonObject:
        question = self.vm_and_objects()
        for role in ("instancetype", "preference"):
            if role in question["vm"]["spec"] and self.chance(0.05):
                question["vm"]["spec"][role]["kind"] = "Unknown"
        return question

    def mutation(self) -> JsonObject:
        question: JsonObject = {"operation": "CREATE", "vm": self.vm(infer=0.3)}
        question["objects"] = [*self.objects(), *self.volumes()]
        if self.chance(0.4):
            question |= {"operation": "UPDATE", "oldVM": self.vm()}
            for vm in (question["vm"], question["oldVM"]):
                for role in ("instancetype", "preference"):
                    if "name" in vm["spec"].get(role, {}) and self.chance(0.5):
                        vm["spec"][role]["revisionName"] = self.pick(NAMES)
        return question

    def preference_review(self) -> JsonObject:
        spec = self.preference_spec()
        if self.chance(0.05):  # preferences are invalid only in this operation
            spec.setdefault("cpu", {})["preferredCPUTopology"] = "square"
        return self.review("Preference", spec)

    def review(self, kind: str, spec: JsonObject) -> JsonObject:
        tree = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "metadata": {"name": "x"}, "spec": spec}
        return {"operation": "CREATE", "object": {**tree, "kind": f"VirtualMachine{self.pick(('', 'Cluster'))}{kind}"}}

    def evaluation(self) -> JsonObject:
        """Return a question about a valid VM with random fields added; the configuration permits everything."""
        extra = self.struct(VirtualMachineInstanceSpec, 0.12)
        devices = extra["domain"].get("devices", {})
        if self.chance(0.7):
            extra.pop("volumes", None), devices.pop("disks", None)
        if self.chance(0.7):
            extra.pop("networks", None), devices.pop("interfaces", None)
        if not extra.get("utilityVolumes"):
            extra.pop("utilityVolumes", None)  # KubeVirt rejects an empty list, which virtshape treats as absent
        vm = self.vm()
        vm["spec"]["template"]["spec"] = _merge(VALID_SPEC, extra)
        if self.chance(0.3):
            del vm["spec"]["template"]["spec"]["domain"]["memory"]
        else:
            vm["spec"].pop("instancetype", None)
            if self.chance(0.7):
                vm["spec"].pop("preference", None)
        objects = self.objects(1)
        for tree in objects:
            memory = tree["spec"].get("memory", {})
            if "hugepages" in memory:
                memory.pop("overcommitPercent", None)  # admission rejects overcommitPercent with hugepages
        return {"vm": vm, "objects": objects, "configuration": PERMISSIVE}

    def payload(self, kind: str) -> JsonObject:
        """Return the content of a revision."""
        spec = self.instancetype_spec() if kind == "Instancetype" else self.preference_spec()
        return {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": f"VirtualMachine{self.pick(('', 'Cluster'))}{kind}",
            "metadata": {"name": "a", "uid": "1-2-3", "generation": self.pick(NUMBERS[1:])},
            "spec": spec,
        }

    def payloads(self) -> JsonObject:
        """Return two payloads that differ in at most a few fields."""
        one = self.payload(self.pick(("Instancetype", "Preference")))
        return {"one": one, "other": {**one, "spec": self.change(one["spec"])}}

    def change(self, tree: Any, share: float = 0.05) -> Any:
        """
        Return a copy of a tree with some members removed, and with quantities written in another way.

        `share` is the probability that a member is removed.

        Zero values stay, because some Go fields do not distinguish them from absent values.
        """
        if isinstance(tree, dict):
            kept = {key: value for key, value in tree.items() if key in KEPT or value in ZERO or not self.chance(share)}
            return {key: self.change(value, share) for key, value in kept.items()}
        if isinstance(tree, list):
            return [self.change(item, share) for item in tree]
        return SYNONYMS.get(tree, tree) if isinstance(tree, str) else tree

    def upgrade(self) -> JsonObject:
        vm = self.vm()
        vm["metadata"]["uid"] = "4-5-6"
        vm["spec"].pop("preference", None)
        vm["spec"]["instancetype"] = {"name": "a"}
        vm["status"] = {"instancetypeRef": {"controllerRevisionRef": {"name": "old"}}}
        payload = self.payload("Instancetype")
        vm["spec"]["instancetype"]["kind"] = payload["kind"]
        old = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": payload, "revision": 0}
        return {"vm": vm, "objects": [{**old, "metadata": {"name": "old", "namespace": "prod"}}]}


DRAWS: Final[dict[str, Callable[[Cases], JsonObject]]] = {
    "apply": Cases.specs,
    "requirements": Cases.specs,
    "spreadCheck": Cases.specs,
    "expand": Cases.expansion,
    "admitVM": Cases.vm_and_objects,
    "startVMI": Cases.expansion,
    "annotations": lambda cases: {"vm": cases.vm()},
    "infer": Cases.inference,
    "matcher": Cases.mutation,
    "validateInstancetype": lambda cases: cases.review("Instancetype", cases.instancetype_spec()),
    "validatePreference": Cases.preference_review,
    "evaluateVM": Cases.evaluation,
    "compareRevisions": Cases.payloads,
    "upgradeRevisions": Cases.upgrade,
}
