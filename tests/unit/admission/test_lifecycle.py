"""Admission of VMs with deprecated and retired objects, and of changes to the life cycle of these objects."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.build import build_flavor, build_instancetype, build_preference, build_revision, build_source
from tests.unit.admission.fakes import FakeCluster
from tests.unit.admission.test_admit import admitted, decide, refused, vm_tree, warned

from virtshape.admission.admit import admit
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

CLUSTER = "VirtualMachineClusterInstancetype"
DEPRECATED = {"virtshape.io/lifecycle": "deprecated"}
RETIRED = {"virtshape.io/lifecycle": "retired"}
COMMON = {"instancetype.kubevirt.io/deprecated": "true"}
REFUSED = ("spec.instancetype.name", f'{CLUSTER} "small" is retired: new VMs cannot use it; use large instead')
KEPT = f'{CLUSTER} "small" is retired: the VM keeps its stored revision; use large instead'


def mark(found: Any, labels: dict[str, str] | None, replacement: str = "large") -> Any:
    annotations = {"virtshape.io/replacement": replacement}
    return replace(found, metadata=replace(found.metadata, labels=labels, annotations=annotations))


def build_cluster(labels: dict[str, str]) -> FakeCluster:
    small = build_instancetype("small")
    kept = build_revision("kept", to_tree(small), object_name="small")
    return FakeCluster([mark(small, labels), build_instancetype("large"), kept])


@pytest.mark.parametrize("labels", [DEPRECATED, COMMON], ids=["virtshape label", "common-instancetypes label"])
def test_new_vm_with_a_deprecated_instancetype_is_accepted_with_a_warning(labels: dict[str, str]) -> None:
    message = f'{CLUSTER} "small" is deprecated: use large instead'
    assert warned(vm_tree(instancetype="small"), build_cluster(labels)) == [message]


def test_update_of_a_vm_with_a_deprecated_instancetype_causes_a_warning() -> None:
    matcher = {"name": "small", "revisionName": "kept"}
    old, new = vm_tree(instancetype=matcher), vm_tree(instancetype=matcher, runStrategy="Halted")
    message = f'{CLUSTER} "small" is deprecated: use large instead'
    assert warned(new, build_cluster(DEPRECATED), old) == [message]


def test_new_vm_with_a_retired_instancetype_is_rejected() -> None:
    assert refused(vm_tree(instancetype="small"), build_cluster(RETIRED)) == [REFUSED]


def test_vm_cannot_be_moved_to_a_retired_instancetype() -> None:
    assert refused(vm_tree(instancetype="small"), build_cluster(RETIRED), vm_tree(instancetype="large")) == [REFUSED]


@pytest.mark.parametrize(
    "matcher",
    [
        pytest.param({"name": "small"}, id="no revision yet"),
        pytest.param({"name": "small", "revisionName": "kept"}, id="stored revision"),
        pytest.param({"name": "small", "kind": CLUSTER.lower()}, id="other spelling of the kind"),
    ],
)
def test_existing_vm_of_a_retired_instancetype_can_be_edited(matcher: JsonObject) -> None:
    old = vm_tree(instancetype="small")
    new = vm_tree(instancetype=matcher, runStrategy="Halted")
    assert warned(new, build_cluster(RETIRED), old) == [KEPT]


def test_new_vm_that_names_a_revision_of_a_retired_instancetype_is_accepted() -> None:
    matcher = {"name": "small", "revisionName": "kept"}
    assert warned(vm_tree(instancetype=matcher), build_cluster(RETIRED)) == [KEPT]


def test_vm_can_be_moved_away_from_a_retired_instancetype_without_a_warning() -> None:
    assert warned(vm_tree(instancetype="large"), build_cluster(RETIRED), vm_tree(instancetype="small")) == []


def test_new_vm_with_a_retired_preference_or_flavor_is_rejected() -> None:
    cluster = FakeCluster(
        [build_instancetype("small"), mark(build_preference(), RETIRED, "bsd"), mark(build_flavor(), RETIRED, "")]
    )
    new = "is retired: new VMs cannot use it"
    assert refused(vm_tree(instancetype="small", preference="linux"), cluster) == [
        ("spec.preference.name", f'VirtualMachineClusterPreference "linux" {new}; use bsd instead')
    ]
    assert refused(vm_tree(flavor={"name": "tiny", "kind": "VirtualMachineClusterFlavor"}), cluster) == [
        ("spec.flavor.name", f'VirtualMachineClusterFlavor "tiny" {new}')
    ]


def test_error_for_an_inferred_retired_instancetype_names_the_volume() -> None:
    labels = {"instancetype.kubevirt.io/default-instancetype": "small"}
    claim = build_source("PersistentVolumeClaim", "disk", labels=labels)
    cluster = FakeCluster([mark(build_instancetype("small"), RETIRED), claim])
    volumes = [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]
    tree = vm_tree(instancetype={"inferFromVolume": "root"}, template={"volumes": volumes})
    with pytest.raises(StatusError) as error:
        decide(admit, tree, cluster)
    assert [cause.message for cause in error.value.causes] == [f"{REFUSED[1]} (inferred from volume root)"]


def test_deprecated_and_retired_instancetypes_are_not_suggested() -> None:
    linux = build_preference(requirements={"cpu": {"guest": 4}})
    sizes = [build_instancetype(name, cpu={"guest": 4}) for name in ("m4", "n4", "o4")]
    cluster = FakeCluster([linux, build_instancetype(), mark(sizes[0], RETIRED), mark(sizes[1], DEPRECATED), sizes[2]])
    ((_, message),) = refused(vm_tree(instancetype="small", preference="linux"), cluster)
    assert message.endswith("preference requires 4 vCPU; o4 fits")


@pytest.mark.parametrize(
    ("found", "replacement", "command"),
    [
        pytest.param(
            build_instancetype(), "large", "; to move them: virtctl migrate-type small large", id="cluster-wide"
        ),
        pytest.param(
            build_preference(namespace="team"),
            "bsd",
            "; to move them: virtctl migrate-type virtualmachinepreference/linux virtualmachinepreference/bsd",
            id="namespaced",
        ),
        pytest.param(
            build_instancetype(namespace="team"),
            f"{CLUSTER}/large",
            f"; to move them: virtctl migrate-type virtualmachineinstancetype/small {CLUSTER}/large",
            id="replacement of another scope",
        ),
        pytest.param(build_flavor(), "large", "", id="flavor"),
    ],
)
def test_warning_for_a_retired_object_in_use_names_the_command_to_move_its_vms(
    found: Any, replacement: str, command: str
) -> None:
    old, new = to_tree(found), to_tree(mark(found, RETIRED, replacement))
    kept = f"2 VMs refer to this {found.kind}: VMs with a stored revision of it continue to use that revision"
    assert warned(new, FakeCluster(users=2), old) == [kept + command]
    assert warned(new, FakeCluster(users=2), new) == []
    assert warned(old, FakeCluster(users=2), new) == []


@pytest.mark.parametrize("is_update", [False, True], ids=["create", "update of labels"])
def test_unknown_lifecycle_state_and_self_replacement_are_rejected(is_update: bool) -> None:
    plain = to_tree(build_instancetype())
    wrong = to_tree(mark(build_instancetype(), {"virtshape.io/lifecycle": "obsolete"}, "small"))
    fields = [field for field, _ in refused(wrong, old=plain if is_update else None)]
    assert fields == ["metadata.labels[virtshape.io/lifecycle]", "metadata.annotations[virtshape.io/replacement]"]


def test_object_with_an_invalid_spec_can_still_be_retired() -> None:
    invalid = build_instancetype(cpu={"guest": 0})
    assert admitted(to_tree(mark(invalid, RETIRED)), old=to_tree(mark(invalid, None)))
