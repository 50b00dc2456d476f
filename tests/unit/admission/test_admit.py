"""Admission of VMs, VMIs, instance types, preferences and the configuration."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.build import build_flavor, build_instancetype, build_preference, build_revision, build_vm
from tests.unit.admission.fakes import NOW, FakeCluster

from virtshape.admission.admit import admit, complete, validate
from virtshape.admission.clusterstate import Admitted, Steps
from virtshape.admission.submission import Submission
from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.resolve.search import run_search

V1BETA1 = "instancetype.kubevirt.io/v1beta1"
SMALL = build_instancetype("small")
LARGE = build_instancetype("large", cpu={"guest": 8}, memory={"guest": "16Gi"})
KEPT = "this VirtualMachineClusterInstancetype: VMs with a stored revision of it are not changed"
RECAPTURE = "virtshape.io/recapture"
REF: JsonObject = {"name": "small", "controllerRevisionRef": {"name": "r1"}}


def kind_of(tree: JsonObject) -> Kind:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    return kind


def vm_tree(**spec: Any) -> JsonObject:
    tree: JsonObject = to_tree(build_vm(**spec))
    return tree


def decide(
    steps: Callable[..., Steps[Admitted]],
    tree: JsonObject,
    cluster: FakeCluster | None = None,
    old: JsonObject | None = None,
    *,
    trusted: bool = False,
) -> Admitted:
    cluster = cluster or FakeCluster()
    return run_search(steps(Submission(kind_of(tree), tree, old), cluster, trusted=trusted), cluster.answer)


def decide_as_webhooks(
    tree: JsonObject, cluster: FakeCluster | None = None, old: JsonObject | None = None, *, trusted: bool = False
) -> Admitted:
    completed = decide(complete, tree, cluster, old, trusted=trusted)
    validated = decide(validate, completed.tree, cluster, old, trusted=trusted)
    assert validated.tree is completed.tree
    return Admitted(completed.tree, completed.warnings + validated.warnings)


def admitted(
    tree: JsonObject, cluster: FakeCluster | None = None, old: JsonObject | None = None, *, trusted: bool = False
) -> JsonObject:
    """Return the stored object; assert that webhooks send the same warnings and, without `cluster`, the same object."""
    result = decide(admit, tree, cluster, old, trusted=trusted)
    webhooks = decide_as_webhooks(tree, cluster, old, trusted=trusted)
    assert webhooks.warnings == result.warnings
    if cluster is None:
        assert webhooks.tree == result.tree
    return result.tree


def warned(tree: JsonObject, cluster: FakeCluster | None = None, old: JsonObject | None = None) -> list[str]:
    warnings = decide(admit, tree, cluster, old).warnings
    assert decide_as_webhooks(tree, cluster, old).warnings == warnings
    return warnings


def refused(
    tree: JsonObject, cluster: FakeCluster | None = None, old: JsonObject | None = None
) -> list[tuple[str, str]]:
    """Return the fields and messages of the rejection; assert that webhooks return the same fields and messages."""
    causes = []
    for admission in (functools.partial(decide, admit), decide_as_webhooks):
        with pytest.raises(StatusError) as error:
            admission(tree, cluster, old)
        assert (error.value.code, error.value.reason) == (422, "Invalid")
        causes.append([(cause.field, cause.message) for cause in error.value.causes])
    assert causes[0] == causes[1]
    return causes[0]


def test_new_vm_gets_only_defaults_that_must_not_change_between_starts() -> None:
    tree = vm_tree(memory="1Gi")
    tree["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = "1024Mi"
    assert admitted(tree)["spec"]["template"] == {
        "metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}},
        "spec": {
            "architecture": "amd64",
            "domain": {
                "devices": {},
                "firmware": {"uuid": "uid-1", "serial": "uid-2"},
                "machine": {"type": "q35"},
                "memory": {"guest": "1024Mi"},
                "resources": {},
            },
        },
    }


def test_updated_vm_keeps_the_defaults_set_at_creation() -> None:
    old = admitted(vm_tree(memory="1Gi"))
    new = vm_tree(memory="2Gi")
    template = admitted(new, old=old)["spec"]["template"]
    assert template["spec"].pop("domain").pop("memory") == {"guest": "2Gi"}
    kept = admitted(vm_tree(memory="1Gi"))["spec"]["template"]
    del kept["spec"]["domain"]
    assert template == kept


def test_vm_change_outside_the_spec_is_not_validated() -> None:
    old = vm_tree(instancetype="gone")
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert admitted(new, old=old) == new


def test_vm_being_deleted_is_not_validated() -> None:
    old = vm_tree(instancetype="gone")
    new = vm_tree(instancetype="gone", runStrategy="Bogus")
    new["metadata"]["deletionTimestamp"] = NOW
    assert admitted(new, old=old) == new


def test_all_violations_of_a_vm_are_reported_at_once() -> None:
    tree = vm_tree(
        instancetype="small",
        preference="linux",
        domain={"cpu": {"cores": 2}, "devices": {"disks": [{"name": "root"}]}},
        runStrategy="Sometimes",
    )
    cluster = FakeCluster([SMALL, LARGE, build_preference("linux", requirements={"cpu": {"guest": 4}})])
    domain = "spec.template.spec.domain"
    assert [field for field, _ in refused(tree, cluster)] == [
        "spec.runStrategy",
        f"{domain}.cpu.cores",
        "spec.instancetype",
        f"{domain}.devices.disks[0].name",
    ]


DOMAIN = "spec.template.spec.domain"
LIMITED = build_instancetype(
    "limited",
    cpu={"limits": {"min": 2, "max": 8, "step": 2}},
    memory={"limits": {"min": "2Gi", "step": "1Gi", "perVCPU": {"max": "4Gi"}}},
)


def test_error_for_an_excluded_size_names_the_nearest_allowed_sizes() -> None:
    tree = vm_tree(instancetype="limited", cpu_guest=3, memory="20Gi", runStrategy="Sometimes")
    strategy, *sizes = refused(tree, FakeCluster([LIMITED]))
    assert strategy[0] == "spec.runStrategy"
    assert sizes == [
        (
            f"{DOMAIN}.cpu.guest",
            (
                f"{DOMAIN}.cpu.guest '3': the instance type allows 2 to 8 vCPUs in steps of 2; "
                "the nearest allowed values are 2 and 4"
            ),
        ),
        (
            f"{DOMAIN}.memory.guest",
            (
                f"{DOMAIN}.memory.guest '20Gi': the instance type allows 2Gi to 16Gi in steps of 1Gi with 4 vCPUs; "
                "the nearest allowed value is 16Gi"
            ),
        ),
    ]


def test_vm_is_checked_against_the_limits_in_its_revision() -> None:
    unlimited = build_revision(
        "r1", to_tree(build_instancetype("limited", cpu=None, memory=None)), object_name="limited"
    )
    cluster = FakeCluster([LIMITED, unlimited])
    captured = {"name": "limited", "revisionName": "r1"}
    old = vm_tree(instancetype=captured, cpu_guest=3, memory="20Gi")
    new = vm_tree(instancetype=captured, cpu_guest=5, memory="20Gi")
    assert admitted(new, cluster, old)["spec"]["template"]["spec"]["domain"]["cpu"] == {"guest": 5}
    upgraded = vm_tree(instancetype="limited", cpu_guest=3, memory="20Gi")
    assert [field for field, _ in refused(upgraded, cluster, old)] == [f"{DOMAIN}.cpu.guest", f"{DOMAIN}.memory.guest"]


def test_instancetypes_whose_limits_exclude_the_vm_are_not_suggested() -> None:
    sizes: dict[str, tuple[int, JsonObject | None]] = {"one": (1, None), "four": (4, None)}
    sizes["limited"] = 4, {"limits": {"max": "8Gi"}}
    types = [build_instancetype(name, cpu={"guest": n}, memory=memory) for name, (n, memory) in sizes.items()]
    cluster = FakeCluster([*types, build_preference("linux", requirements={"cpu": {"guest": 4}})])
    ((_, message),) = refused(vm_tree(instancetype="one", preference="linux", memory="20Gi"), cluster)
    assert message.endswith("; four fits")


def test_error_for_an_unmet_requirement_suggests_an_instancetype() -> None:
    cluster = FakeCluster([SMALL, LARGE, build_preference("linux", requirements={"cpu": {"guest": 4}})])
    ((_, message),) = refused(vm_tree(instancetype="small", preference="linux"), cluster)
    assert message.startswith("failure checking preference requirements: insufficient CPU resources of 2 vCPU")
    assert message.endswith("; large fits")


MISSING: dict[str, tuple[JsonObject, str, str]] = {
    "misspelled name": ({"instancetype": "smal"}, "spec.instancetype.name", "did you mean small?"),
    "namespaced kind": (
        {"instancetype": "VirtualMachineInstancetype/small"},
        "spec.instancetype.name",
        (
            "there is a VirtualMachineClusterInstancetype of this name: to use it, "
            "set spec.instancetype.kind to VirtualMachineClusterInstancetype"
        ),
    ),
    "unknown preference without similar names": (
        {"preference": "xyz", "memory": "1Gi"},
        "spec.preference.name",
        "create the object first",
    ),
    "unknown kind": ({"instancetype": "Typo/small"}, "spec.instancetype.kind", "got unexpected kind"),
    "missing revision": (
        {"instancetype": {"name": "small", "revisionName": "r"}},
        "spec.instancetype.revisionName",
        "not found",
    ),
    "missing volume to infer from": (
        {"instancetype": {"inferFromVolume": "root"}},
        "spec.instancetype.inferFromVolume",
        "unable to find volume",
    ),
}


@pytest.mark.parametrize(("spec", "field", "reason"), MISSING.values(), ids=MISSING)
def test_vm_with_an_unresolvable_reference_is_rejected(spec: JsonObject, field: str, reason: str) -> None:
    ((found, message),) = refused(vm_tree(**spec), FakeCluster([SMALL]))
    assert (found, reason in message) == (field, True), message


def test_missing_flavor_preference_error_mentions_a_preference_in_the_instancetype_group() -> None:
    cluster = FakeCluster([build_flavor("tiny"), build_preference("linux")])
    ((field, message),) = refused(vm_tree(flavor="tiny", preference="linux"), cluster)
    assert field == "spec.preference.name"
    assert message.endswith(
        "the preference in instancetype.kubevirt.io cannot be used with spec.flavor: use spec.instancetype"
    )


def test_missing_instancetype_is_not_also_reported_as_too_small() -> None:
    requirements = {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}, "architecture": "arm64"}
    cluster = FakeCluster([SMALL, build_preference("picky", requirements=requirements)])
    fields = [field for field, _ in refused(vm_tree(instancetype="smal", preference="picky"), cluster)]
    assert fields == ["spec.instancetype.name", "spec.template.spec.architecture"]


def test_missing_instancetype_causes_a_warning_if_configured() -> None:
    cluster = FakeCluster([SMALL], instancetype={"missingReference": "Defer"})
    (warning,) = warned(vm_tree(instancetype="smal"), cluster)
    assert warning.endswith('"smal" not found; did you mean small?; the VM can start once the object exists')


def test_vm_with_a_deleted_instancetype_can_be_updated() -> None:
    old = vm_tree(instancetype="gone", runStrategy="Always")
    new = vm_tree(instancetype="gone", runStrategy="Halted")
    assert admitted(new, old=old)["spec"]["runStrategy"] == "Halted"


RELEASED: dict[str, tuple[JsonObject, JsonObject, str | None]] = {
    "removed revision name": ({"name": "small", "revisionName": "r1"}, {"name": "small"}, "instancetype"),
    "other object, revision in the status": ({"name": "small"}, {"name": "large"}, "instancetype"),
    "other object with the captured revision": (
        {"name": "small", "revisionName": "r1"},
        {"name": "large", "revisionName": "r1"},
        "instancetype",
    ),
    "same object, revision in the status": ({"name": "small"}, {"name": "small"}, None),
    "other revision": ({"name": "small", "revisionName": "r1"}, {"name": "small", "revisionName": "r2"}, None),
}


@pytest.mark.parametrize(("before", "after", "marked"), RELEASED.values(), ids=RELEASED)
def test_recapture_annotation_is_set_only_if_the_vm_needs_a_new_revision(
    before: JsonObject, after: JsonObject, marked: str | None
) -> None:
    data = to_tree(SMALL)
    revisions = [build_revision(name, data, object_name="small") for name in ("r1", "r2")]
    cluster = FakeCluster([SMALL, LARGE, *revisions])
    status: JsonObject = {"instancetypeRef": REF}
    old = vm_tree(instancetype=before, status=status)
    new = admitted(vm_tree(instancetype=after, status=status, runStrategy="Halted"), cluster, old)
    assert new["metadata"].get("annotations", {}).get(RECAPTURE) == marked


def ask_for_recapture(roles: str, **spec: Any) -> tuple[JsonObject, JsonObject]:
    """Return a VM whose status names its revision, with an annotation that requests a new one, and without it."""
    old = vm_tree(instancetype="small", status={"instancetypeRef": REF}, **spec)
    return {**old, "metadata": {**old["metadata"], "annotations": {RECAPTURE: roles}}}, old


R1 = build_revision("r1", to_tree(SMALL), object_name="small")
SSD = build_instancetype("small", nodeSelector={"disk": "ssd"})
ON_HDD: JsonObject = {"nodeSelector": {"disk": "hdd"}}


def test_requested_recapture_is_checked_and_sets_no_defaults() -> None:
    new, old = ask_for_recapture("instancetype,preference")
    assert admitted(new, FakeCluster([SMALL, R1]), old) is new


def test_requested_recapture_is_rejected_if_the_current_object_conflicts_with_the_vm() -> None:
    new, old = ask_for_recapture("instancetype", template=ON_HDD)
    assert admitted(new, FakeCluster([SMALL, R1]), old) is new
    ((_, message),) = refused(new, FakeCluster([SSD, R1]), old)
    assert message == "VM field(s) spec.template.spec.nodeSelector conflicts with selected instance type"


def test_requested_recapture_is_rejected_if_the_object_does_not_exist() -> None:
    new, old = ask_for_recapture("instancetype")
    ((field, message),) = refused(new, FakeCluster([R1]), old)
    assert (field, '"small" not found' in message) == ("spec.instancetype.name", True), message


@pytest.mark.parametrize("roles", ["", "preference", "instancetypes", "../instancetype", ",,"])
def test_recapture_annotation_without_a_role_of_the_vm_is_not_checked(roles: str) -> None:
    new, old = ask_for_recapture(roles, template=ON_HDD)
    assert admitted(new, FakeCluster([SSD, R1]), old) is new


def test_pending_recapture_is_not_checked_again() -> None:
    new, _ = ask_for_recapture("instancetype", template=ON_HDD)
    assert admitted({**new, "metadata": {**new["metadata"], "labels": {"a": "b"}}}, FakeCluster([SSD, R1]), new)


def test_update_that_changes_the_preference_keeps_the_requested_recapture_of_the_instancetype() -> None:
    new, old = ask_for_recapture("instancetype", preference={"name": "linux", "revisionName": "r2"})
    new = {**new, "spec": {**new["spec"], "preference": {"name": "linux"}}}
    cluster = FakeCluster([SMALL, R1, build_preference("linux")])
    assert admitted(new, cluster, old)["metadata"]["annotations"][RECAPTURE] == "instancetype,preference"


def test_deprecated_running_field_causes_a_warning() -> None:
    tree = vm_tree(memory="1Gi", runStrategy=None, running=True)
    assert warned(tree) == ["spec.running is deprecated: use spec.runStrategy: Always"]


def vmi_tree(**spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vmi", "namespace": "default"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}, **spec},
    }


def test_admission_rejection_includes_warnings() -> None:
    tree = vm_tree(instancetype={"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"})
    tree["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "containerDisk": {"image": "i"}}]
    tree["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "0"}
    with pytest.raises(StatusError) as error:
        decide(admit, tree)
    assert [cause.field for cause in error.value.causes] == ["spec.template.spec.domain.memory.guest"]
    assert "inferFromVolume" in error.value.warnings[0]


def test_vm_without_instancetype_and_memory_is_accepted_with_a_warning() -> None:
    (warning,) = decide(admit, vm_tree()).warnings
    assert warning.startswith("no memory: set spec.template.spec.domain.memory.guest in the VM, or choose an instance")


def test_new_vmi_gets_all_defaults() -> None:
    tree = admitted(vmi_tree())
    assert tree["metadata"]["finalizers"] == ["kubevirt.io/foregroundDeleteVirtualMachine"]
    assert tree["spec"]["networks"] == [{"name": "default", "pod": {}}]
    assert tree["spec"]["domain"]["cpu"] == {"sockets": 1, "cores": 1, "threads": 1, "model": "host-model"}
    assert tree["spec"]["domain"]["firmware"] == {"uuid": "uid-1"}
    assert tree["status"] == {
        "phase": "Pending",
        "phaseTransitionTimestamps": [{"phase": "Pending", "phaseTransitionTimestamp": NOW}],
        "guestOSInfo": {},
        "runtimeUser": 107,
        "currentCPUTopology": {"sockets": 1, "cores": 1, "threads": 1},
        "memory": {"guestAtBoot": "1Gi", "guestCurrent": "1Gi", "guestRequested": "1Gi"},
    }


def test_vmi_without_memory_is_rejected() -> None:
    assert [field for field, _ in refused(vmi_tree(domain={"devices": {}}))] == ["spec.domain.memory.guest"]


def test_only_trusted_accounts_can_change_the_spec_of_a_vmi() -> None:
    old = admitted(vmi_tree())
    new = {**old, "spec": {**old["spec"], "hostname": "other"}}
    assert refused(new, old=old) == [("", "update of VMI object is restricted")]
    assert admitted(new, old=old, trusted=True) == new


def test_only_trusted_accounts_can_change_the_status_of_a_vmi() -> None:
    old = admitted(vmi_tree())
    forged = {**old, "status": {"phase": "Running"}}
    assert admitted(forged, old=old) == old
    assert admitted(forged, old=old, trusted=True) == forged
    assert admitted({**vmi_tree(), "status": {"phase": "Running"}})["status"]["phase"] == "Pending"


def labelled(tree: JsonObject, **labels: str) -> JsonObject:
    return {**tree, "metadata": {**tree["metadata"], "labels": labels}}


NODE = "kubevirt.io/nodeName"


def test_only_trusted_accounts_can_add_reserved_labels_to_a_vmi() -> None:
    tree = labelled(vmi_tree(), **{NODE: "node1", "app": "web"})
    ((field, message),) = refused(tree)
    assert field == "metadata.labels"
    assert message.endswith(f"labels on a VMI object is prohibited: {NODE}")
    assert admitted(tree, trusted=True)["metadata"]["labels"] == {NODE: "node1", "app": "web"}


def test_only_trusted_accounts_can_change_reserved_labels_of_a_vmi() -> None:
    old = admitted(labelled(vmi_tree(), **{NODE: "node1"}), trusted=True)
    new = labelled(old, **{NODE: "node2"})
    ((field, message),) = refused(new, old=old)
    assert (field, message.split()[0]) == ("metadata.labels", "modification")
    assert admitted(new, old=old, trusted=True) == new
    other = labelled(old, **{NODE: "node1", "app": "web"})
    assert admitted(other, old=old) == other


FORBIDDEN: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "machine type": ({"machine": {"type": "pc"}}, {}, "machine.type"),
    "bridge binding": ({}, {"network": {"permitBridgeInterfaceOnPodNetwork": False}}, "devices.interfaces[0].name"),
}


@pytest.mark.parametrize(("domain", "configuration", "field"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_feature_forbidden_by_the_configuration_is_rejected(
    domain: JsonObject, configuration: JsonObject, field: str
) -> None:
    hardware = {**domain, "devices": {"interfaces": [{"name": "default", "bridge": {}}]}, "memory": {"guest": "1Gi"}}
    template: JsonObject = {"networks": [{"name": "default", "pod": {}}]}
    cluster = FakeCluster(**configuration)
    vm = vm_tree(domain=hardware, template=template)
    assert [at for at, _ in refused(vm, cluster)] == [f"spec.template.spec.domain.{field}"]
    vmi = vmi_tree(domain=hardware, **template)
    assert [at for at, _ in refused(vmi, cluster)] == [f"spec.domain.{field}"]


def test_vm_without_an_interface_is_rejected_if_the_default_is_not_permitted() -> None:
    cluster = FakeCluster(network={"permitBridgeInterfaceOnPodNetwork": False})
    memory: JsonObject = {"memory": {"guest": "1Gi"}, "devices": {}}
    ((field, message),) = refused(vm_tree(domain=memory), cluster)
    assert field == "spec.template.spec.domain.devices.interfaces"
    assert message.startswith("bridge interface is not enabled in kubevirt-config: add an interface to the VM")
    assert [at for at, _ in refused(vmi_tree(domain=memory), cluster)] == ["spec.domain.devices.interfaces"]


def test_unknown_kubevirt_setting_causes_a_warning() -> None:
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "spec": {"configuration": {"colour": "blue"}}}
    assert warned(tree) == ['unknown setting "spec.configuration.colour" is stored but has no effect']


def instancetype_tree(version: str = "v1beta1", **spec: Any) -> JsonObject:
    tree: JsonObject = to_tree(build_instancetype("small", version=version, **spec))
    return tree


def test_instancetype_is_validated_by_the_rules_of_its_version() -> None:
    assert refused(instancetype_tree(cpu={})) == [
        ("spec.cpu.guest", "either spec.cpu.guest or spec.cpu.topology is required before v1beta2")
    ]
    assert admitted(instancetype_tree("v1beta2", cpu={}))["spec"]["cpu"] == {}


@pytest.mark.parametrize(
    ("users", "warnings"),
    [
        (0, []),
        (1, [f"1 VM refers to {KEPT}"]),
        (7, [f"7 VMs refer to {KEPT}"]),
    ],
)
def test_change_of_an_instancetype_causes_a_warning_only_if_vms_use_it(users: int, warnings: list[str]) -> None:
    cluster = FakeCluster(users=users)
    assert warned(instancetype_tree(cpu={"guest": 3}), cluster, instancetype_tree()) == warnings
    assert warned(instancetype_tree(), cluster, instancetype_tree()) == []


def test_preference_with_an_unknown_topology_is_rejected() -> None:
    tree = to_tree(build_preference("linux", cpu={"preferredCPUTopology": "preferRings"}))
    assert [field for field, _ in refused(tree)] == ["spec.cpu.preferredCPUTopology"]


def test_objects_of_other_kinds_are_admitted_unchanged() -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert admitted(tree) is tree
