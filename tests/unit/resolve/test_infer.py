"""Inference of matchers from volumes: annotations, labels and the sources of a volume."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.support.build import SourceKind, build_source, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher, PreferenceMatcher, VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.offline.objects import Objects
from virtshape.resolve.infer import infer_matchers

PREFIX = "instancetype.kubevirt.io/"
CLAIM: JsonObject = {"name": "root", "persistentVolumeClaim": {"claimName": "base"}}
DATA_VOLUME: JsonObject = {"name": "root", "dataVolume": {"name": "dv"}}
FROM_CLAIM: JsonObject = {"source": {"pvc": {"name": "base", "namespace": "default"}}}
FROM_SNAPSHOT: JsonObject = {"source": {"snapshot": {"name": "base", "namespace": "default"}}}
FROM_DATA_SOURCE: JsonObject = {"sourceRef": {"kind": "DataSource", "name": "ds"}}
SMALL = {"name": "small", "kind": "virtualmachineclusterinstancetype"}
BOTH: JsonObject = {"annotations": {"defaultInstancetype": "small", "defaultPreference": "linux"}}


def mark(kind: SourceKind, name: str, marks: JsonObject | None = None, **spec: Any) -> Any:
    """Build a source with annotations and labels; their keys are given without the prefix."""
    prefixed: JsonObject = {
        place: {f"{PREFIX}{key}": value for key, value in entries.items()} for place, entries in (marks or {}).items()
    }
    return build_source(kind, name, **prefixed, **spec)


def infer(vm: VirtualMachine, *objects: Model) -> tuple[JsonObject | None, JsonObject | None]:
    assert infer_matchers(vm, Objects(objects).find) == []
    return to_tree(vm.spec.instancetype), to_tree(vm.spec.preference)


def build_inferring_vm(volume: JsonObject = CLAIM, *, policy: str | None = None, **vm: Any) -> VirtualMachine:
    """Build a VM that infers its instance type from its only volume."""
    matcher = {"inferFromVolume": "root", "inferFromVolumeFailurePolicy": policy}
    return build_vm(**{"instancetype": matcher, "template": {"volumes": [volume]}, **vm})


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        pytest.param({"annotations": {"defaultInstancetype": "small"}}, SMALL, id="annotation"),
        pytest.param({"labels": {"default-instancetype": "small"}}, SMALL, id="label"),
        pytest.param(
            {"annotations": {"defaultInstancetype": "small"}, "labels": {"default-instancetype": "large"}},
            SMALL,
            id="annotation before label",
        ),
        pytest.param(
            {"annotations": {"defaultInstancetype": "a", "defaultInstancetypeKind": "K"}},
            {"name": "a", "kind": "K"},
            id="annotated kind",
        ),
        pytest.param(
            {"labels": {"default-instancetype": "a", "default-instancetype-kind": "K"}},
            {"name": "a", "kind": "K"},
            id="labelled kind",
        ),
        pytest.param(
            {"annotations": {"defaultInstancetype": "a"}, "labels": {"default-instancetype-kind": "K"}},
            {"name": "a", "kind": "K"},
            id="annotated name, labelled kind",
        ),
        pytest.param(
            {"annotations": {"defaultInstancetypeKind": "K"}, "labels": {"default-instancetype": "a"}},
            {"name": "a", "kind": "K"},
            id="labelled name, annotated kind",
        ),
        pytest.param(
            {
                "annotations": {"defaultInstancetype": "a", "defaultInstancetypeKind": "K"},
                "labels": {"default-instancetype": "b", "default-instancetype-kind": "L"},
            },
            {"name": "a", "kind": "K"},
            id="annotations before labels, both keys",
        ),
        pytest.param(
            {"annotations": {"defaultInstancetype": "small", "defaultInstancetypeKind": ""}}, SMALL, id="empty kind"
        ),
    ],
)
def test_instancetype_is_inferred_from_annotations_or_labels(marks: JsonObject, expected: JsonObject) -> None:
    assert infer(build_inferring_vm(), mark("PersistentVolumeClaim", "base", marks)) == (expected, None)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ({"annotations": {"defaultPreference": "linux"}}, "virtualmachineclusterpreference"),
        ({"labels": {"default-preference": "linux"}}, "virtualmachineclusterpreference"),
        ({"annotations": {"defaultPreference": "linux", "defaultPreferenceKind": "K"}}, "K"),
        ({"labels": {"default-preference": "linux", "default-preference-kind": "K"}}, "K"),
    ],
    ids=["annotation", "label", "annotated kind", "labelled kind"],
)
def test_preference_is_inferred_from_the_keys_for_preferences(marks: JsonObject, expected: str) -> None:
    vm = build_vm(preference={"inferFromVolume": "root"}, template={"volumes": [CLAIM]})
    claim = mark("PersistentVolumeClaim", "base", marks)
    assert infer(vm, claim) == (None, {"name": "linux", "kind": expected})


@pytest.mark.parametrize("key", ["default-instancetype", "defaultInstancetype"])
@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_annotation_and_label_keys_are_not_interchangeable(key: str, place: str) -> None:
    right = {"labels": "default-instancetype", "annotations": "defaultInstancetype"}[place] == key
    claim = mark("PersistentVolumeClaim", "base", {place: {key: "small"}})
    if right:
        assert infer(build_inferring_vm(), claim) == (SMALL, None)
    else:
        with pytest.raises(StatusError, match="unable to find required"):
            infer(build_inferring_vm(), claim)


CHAINS = {
    "claim": (CLAIM, {}, ["PersistentVolumeClaim/base"]),
    "data volume of a claim": (
        DATA_VOLUME,
        {"DataVolume/dv": FROM_CLAIM},
        ["DataVolume/dv", "PersistentVolumeClaim/base"],
    ),
    "data volume of a snapshot": (
        DATA_VOLUME,
        {"DataVolume/dv": FROM_SNAPSHOT},
        ["DataVolume/dv", "VolumeSnapshot/base"],
    ),
    "data volume of a data source of a claim": (
        DATA_VOLUME,
        {"DataVolume/dv": FROM_DATA_SOURCE, "DataSource/ds": FROM_CLAIM},
        ["DataVolume/dv", "DataSource/ds", "PersistentVolumeClaim/base"],
    ),
    "data volume of a data source of a snapshot": (
        DATA_VOLUME,
        {"DataVolume/dv": FROM_DATA_SOURCE, "DataSource/ds": FROM_SNAPSHOT},
        ["DataVolume/dv", "DataSource/ds", "VolumeSnapshot/base"],
    ),
}


def build_chain(specs: JsonObject, links: list[str], marks: dict[str, JsonObject]) -> list[Any]:
    split = {link: link.split("/") for link in links}
    return [
        mark(cast("SourceKind", kind), name, marks.get(link), **specs.get(link, {}))
        for link, (kind, name) in split.items()
    ]


@pytest.mark.parametrize(("volume", "specs", "links"), CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("place", [{"annotations": "defaultInstancetype"}, {"labels": "default-instancetype"}])
def test_inference_uses_the_first_source_with_a_default(
    volume: JsonObject, specs: JsonObject, links: list[str], place: dict[str, str]
) -> None:
    ((where, key),) = place.items()
    for depth, link in enumerate(links):
        marks = {link: {where: {key: f"from {link}"}} for link in links[depth:]}
        inferred, _ = infer(build_inferring_vm(volume), *build_chain(specs, links, marks))
        assert inferred == {**SMALL, "name": f"from {link}"}


def test_label_takes_precedence_over_an_annotation_of_a_later_source() -> None:
    near = mark("DataVolume", "dv", {"labels": {"default-instancetype": "small"}}, **FROM_CLAIM)
    far = mark("PersistentVolumeClaim", "base", {"annotations": {"defaultInstancetype": "large"}})
    assert infer(build_inferring_vm(DATA_VOLUME), near, far) == (SMALL, None)


def test_default_kind_from_a_source_without_a_default_name_is_ignored() -> None:
    near = mark("DataVolume", "dv", {"annotations": {"defaultInstancetypeKind": "near"}}, **FROM_CLAIM)
    far = mark("PersistentVolumeClaim", "base", {"annotations": {"defaultInstancetype": "small"}})
    assert infer(build_inferring_vm(DATA_VOLUME), near, far) == (SMALL, None)


def test_instancetype_and_preference_are_inferred_independently() -> None:
    near = mark("DataVolume", "dv", {"annotations": {"defaultInstancetype": "small"}}, **FROM_CLAIM)
    far = mark("PersistentVolumeClaim", "base", {"annotations": {"defaultPreference": "linux"}})
    vm = build_inferring_vm(DATA_VOLUME, preference={"inferFromVolume": "root"})
    assert infer(vm, near, far) == (SMALL, {"name": "linux", "kind": "virtualmachineclusterpreference"})


def test_matchers_are_inferred_from_a_claim_after_its_data_volume_is_deleted() -> None:
    assert infer(build_inferring_vm(DATA_VOLUME), mark("PersistentVolumeClaim", "dv", BOTH)) == (SMALL, None)


TEMPLATE: JsonObject = {"metadata": {"name": "dv"}, "spec": FROM_CLAIM}


def test_source_of_a_data_volume_template_is_used() -> None:
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[TEMPLATE])
    assert infer(vm, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)


def test_data_volume_template_takes_precedence_over_the_data_volume() -> None:
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[TEMPLATE])
    other = mark("DataVolume", "dv", {"annotations": {"defaultInstancetype": "large"}})
    assert infer(vm, other, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {f"{PREFIX}defaultInstancetype": "large", f"{PREFIX}defaultInstancetypeKind": "K"}},
        {"labels": {f"{PREFIX}default-instancetype": "large", f"{PREFIX}default-instancetype-kind": "K"}},
    ],
    ids=["annotations", "labels"],
)
def test_metadata_of_a_data_volume_template_is_ignored(metadata: JsonObject) -> None:
    template = {"metadata": {"name": "dv", **metadata}, "spec": FROM_CLAIM}
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[template])
    assert infer(vm, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)


@pytest.mark.parametrize(
    ("named", "namespace"), [("images", "images"), ("", "lab")], ids=["namespace of the source", "namespace of the VM"]
)
@pytest.mark.parametrize(("kind", "source"), [("PersistentVolumeClaim", "pvc"), ("VolumeSnapshot", "snapshot")])
@pytest.mark.parametrize("through", ["DataVolume", "DataSource"])
def test_source_namespace_defaults_to_that_of_the_vm(
    through: SourceKind, kind: SourceKind, source: str, named: str, namespace: str
) -> None:
    spec: JsonObject = {"source": {source: {"name": "base", "namespace": named}}}
    chain = [mark("DataVolume", "dv", namespace="lab", **(spec if through == "DataVolume" else FROM_DATA_SOURCE))]
    if through == "DataSource":
        chain.append(mark("DataSource", "ds", namespace="lab", **spec))
    vm = build_inferring_vm(DATA_VOLUME, namespace="lab")
    assert infer(vm, *chain, mark(kind, "base", BOTH, namespace=namespace)) == (SMALL, None)


def test_data_volume_template_without_a_name_is_ignored() -> None:
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[{"spec": FROM_SNAPSHOT}, TEMPLATE])
    assert infer(vm, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)


FROM_IMAGE: JsonObject = {"source": {"registry": {"url": "docker://quay.io/disk"}}}
IMAGE_LABELS: JsonObject = {"labels": {"default-instancetype": "small"}}


def test_template_with_a_container_image_uses_the_labels_of_its_data_volume() -> None:
    template: JsonObject = {"metadata": {"name": "dv"}, "spec": FROM_IMAGE}
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[template])
    assert infer(vm, mark("DataVolume", "dv", IMAGE_LABELS, **FROM_IMAGE)) == (SMALL, None)


def test_labels_of_a_template_with_a_container_image_override_labels_of_its_data_volume() -> None:
    own = {"name": "dv", "labels": {f"{PREFIX}default-instancetype": "small"}}
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[{"metadata": own, "spec": FROM_IMAGE}])
    assert infer(vm, mark("DataVolume", "dv", {"labels": {"default-instancetype": "large"}})) == (SMALL, None)


def test_error_for_unknown_defaults_of_a_container_image_names_the_image() -> None:
    template: JsonObject = {"metadata": {"name": "dv"}, "spec": FROM_IMAGE}
    vm = build_inferring_vm(DATA_VOLUME, dataVolumeTemplates=[template])
    with pytest.raises(StatusError, match=r"container image docker://quay\.io/disk is known here") as refused:
        infer(vm, mark("DataVolume", "dv", **FROM_IMAGE))
    assert [cause.rule for cause in refused.value.causes] == ["inference-unknown"]


UNUSABLE = [
    pytest.param(
        {"name": "root", "containerDisk": {"image": "x"}},
        [],
        "type is not supported: the defaults of container disk x are not read from its registry; set the "
        "instancetype in the VM, or import the image with a DataVolume",
        id="container disk",
    ),
    pytest.param(
        {"name": "root", "emptyDisk": {"capacity": "1Gi"}},
        [],
        "type is not supported; infer from a dataVolume or persistentVolumeClaim, or set the instancetype in the VM",
        id="empty disk",
    ),
    pytest.param(CLAIM, [mark("PersistentVolumeClaim", "base")], "unable to find required", id="unmarked claim"),
    pytest.param(
        DATA_VOLUME, [mark("DataVolume", "dv", source={"blank": {}})], "DataVolumeSource is not supported", id="blank"
    ),
    pytest.param(DATA_VOLUME, [mark("DataVolume", "dv")], "DataVolumeSource is not supported", id="no source"),
    pytest.param(
        DATA_VOLUME,
        [mark("DataVolume", "dv", sourceRef={"kind": "Pod", "name": "p"})],
        "Kind Pod is not supported",
        id="reference to another kind",
    ),
    pytest.param(
        DATA_VOLUME,
        [mark("DataVolume", "dv", sourceRef={"kind": "datasource", "name": "ds"})],
        "Kind datasource is not supported",
        id="reference in lower case",
    ),
    pytest.param(
        DATA_VOLUME,
        [mark("DataVolume", "dv", **FROM_DATA_SOURCE), mark("DataSource", "ds")],
        "DataSource that doesn't provide",
        id="empty data source",
    ),
    pytest.param(
        DATA_VOLUME,
        [
            mark("DataVolume", "dv", **FROM_DATA_SOURCE),
            mark("DataSource", "ds", source={"dataSource": {"name": "next", "namespace": "default"}}),
            mark("DataSource", "next", BOTH),
        ],
        "DataSource that doesn't provide",
        id="data source of a data source",
    ),
]


@pytest.mark.parametrize(("volume", "objects", "message"), UNUSABLE)
@pytest.mark.parametrize("policy", [None, "Reject"])
def test_inference_from_a_volume_without_defaults_is_rejected(
    volume: JsonObject, objects: list[Model], message: str, policy: str | None
) -> None:
    vm = build_inferring_vm(volume, policy=policy)
    before = to_tree(vm)
    with pytest.raises(StatusError, match=message) as refused:
        infer(vm, *objects)
    assert refused.value.code == 400
    assert to_tree(vm) == before


@pytest.mark.parametrize(("volume", "objects", "message"), UNUSABLE)
def test_policy_ignore_clears_the_matcher_and_warns(volume: JsonObject, objects: list[Model], message: str) -> None:
    vm = build_inferring_vm(volume, policy="Ignore", memory="512Mi")
    (warning,) = infer_matchers(vm, Objects(objects).find)
    assert warning.startswith("spec.instancetype: ")
    assert message in warning
    policy = "ignored because inferFromVolumeFailurePolicy is Ignore: the VM has no instancetype"
    assert warning.endswith(f"; {policy}: it gets only its own 512Mi of memory")
    assert vm.spec.instancetype is None
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.memory) == {"guest": "512Mi"}


@pytest.mark.parametrize("policy", [None, "Reject", "Ignore"])
@pytest.mark.parametrize(
    ("volume", "objects", "message"),
    [
        pytest.param(
            {"name": "other", "emptyDisk": {"capacity": "1Gi"}},
            [],
            "unable to find volume root to infer defaults: use one of other",
            id="volume",
        ),
        pytest.param(CLAIM, [], 'persistentvolumeclaims "base" not found', id="claim"),
        pytest.param(DATA_VOLUME, [], 'persistentvolumeclaims "dv" not found', id="data volume and claim"),
        pytest.param(
            DATA_VOLUME,
            [mark("DataVolume", "dv", **FROM_CLAIM)],
            'persistentvolumeclaims "base" not found',
            id="origin",
        ),
        pytest.param(
            DATA_VOLUME,
            [mark("DataVolume", "dv", **FROM_DATA_SOURCE)],
            r'datasources\.cdi\.kubevirt\.io "ds" not found',
            id="data source",
        ),
    ],
)
def test_missing_inference_source_is_rejected_with_every_failure_policy(
    policy: str | None, volume: JsonObject, objects: list[Model], message: str
) -> None:
    with pytest.raises(StatusError, match=message):
        infer(build_inferring_vm(volume, policy=policy), *objects)


@pytest.mark.parametrize(
    ("policy", "memory"), [("Ignore", None), ("Reject", {"guest": "512Mi"}), (None, {"guest": "512Mi"})]
)
def test_successful_inference_with_policy_ignore_removes_the_memory_of_the_vm(
    policy: str | None, memory: JsonObject | None
) -> None:
    vm = build_inferring_vm(policy=policy, memory="512Mi")
    assert infer(vm, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.memory) == memory


def test_inference_of_a_preference_keeps_the_memory_of_the_vm() -> None:
    matcher = {"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"}
    vm = build_vm(preference=matcher, template={"volumes": [CLAIM]}, memory="512Mi")
    infer(vm, mark("PersistentVolumeClaim", "base", BOTH))
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.memory) == {"guest": "512Mi"}


def test_ignored_inference_failure_does_not_affect_the_other_matcher() -> None:
    claim = mark("PersistentVolumeClaim", "base", {"annotations": {"defaultInstancetype": "small"}})
    vm = build_inferring_vm(preference={"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"})
    assert len(infer_matchers(vm, Objects([claim]).find)) == 1
    assert (to_tree(vm.spec.instancetype), vm.spec.preference) == (SMALL, None)


def test_failed_inference_of_a_matcher_changes_no_matcher() -> None:
    claim = mark("PersistentVolumeClaim", "base", {"annotations": {"defaultInstancetype": "small"}})
    vm = build_inferring_vm(preference={"inferFromVolume": "root"}, policy="Ignore", memory="512Mi")
    before = to_tree(vm)
    with pytest.raises(StatusError, match="default-preference"):
        infer_matchers(vm, Objects([claim]).find)
    assert to_tree(vm) == before


def test_inference_leaves_matchers_with_a_name_unchanged() -> None:
    vm = build_vm(instancetype={"name": "a", "kind": "k", "revisionName": "r"}, preference="b")
    before = to_tree(vm)
    assert infer_matchers(vm, Objects().find) == []
    assert to_tree(vm) == before


def test_inferred_matcher_has_only_name_and_kind() -> None:
    vm = build_inferring_vm()
    assert vm.spec.instancetype is not None
    vm.spec.instancetype.revision_name = "r"
    assert infer(vm, mark("PersistentVolumeClaim", "base", BOTH)) == (SMALL, None)


def test_inferred_matchers_are_of_the_types_instancetype_matcher_and_preference_matcher() -> None:
    vm = build_inferring_vm(preference={"inferFromVolume": "root"})
    infer(vm, mark("PersistentVolumeClaim", "base", BOTH))
    assert isinstance(vm.spec.instancetype, InstancetypeMatcher)
    assert isinstance(vm.spec.preference, PreferenceMatcher)


def test_source_without_metadata_has_no_defaults_to_infer() -> None:
    bare = replace(mark("PersistentVolumeClaim", "base"), metadata=None)
    with pytest.raises(StatusError, match="unable to find required"):
        infer_matchers(build_inferring_vm(), lambda _: bare)


def test_inference_failures_of_both_matchers_are_reported() -> None:
    vm = build_vm(instancetype={"inferFromVolume": "none"}, preference={"inferFromVolume": "none"})
    with pytest.raises(StatusError) as refused:
        infer_matchers(vm, Objects().find)
    assert [cause.field for cause in refused.value.causes] == [
        "spec.instancetype.inferFromVolume",
        "spec.preference.inferFromVolume",
    ]
