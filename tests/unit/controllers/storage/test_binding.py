"""Binding decisions for claims."""

import pytest
from tests.support.storageobjects import OURS, build_bound, build_claim, build_class, build_volume

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.storage import StorageClass
from virtshape.client.resources import metadata_of
from virtshape.controllers.storage.binding import Bind, Lost, Provision, Step, Wait, decide_binding, find_match

LOCAL = build_class()
WAITING = build_class("waiting", volumeBindingMode="WaitForFirstConsumer")
FOREIGN = build_class("foreign", provisioner="ceph.example")
CLASSES = [LOCAL, WAITING, FOREIGN]
NOW = {"cdi.kubevirt.io/storage.bind.immediate.requested": ""}


def decide(claim: PersistentVolumeClaim, *volumes: PersistentVolume, has_consumer: bool = False) -> Step:
    known = {metadata_of(volume).name or "": volume for volume in volumes}
    return decide_binding(claim, CLASSES, known, OURS, has_consumer=has_consumer)


@pytest.mark.parametrize(
    ("claim", "volumes", "step"),
    [
        (build_claim(), [], Provision(LOCAL)),
        (build_claim(), [build_volume("free")], Bind("free")),
        (build_claim(), [build_volume("theirs", claim="c2")], Provision(LOCAL)),
        (build_claim(), [build_volume("mine", claim="c1"), build_volume("free")], Bind("mine")),
        (build_claim(), [build_volume("mine", claim="c1", uid="u1")], Bind("mine")),
        (build_claim(), [build_volume("earlier", claim="c1", uid="u0")], Provision(LOCAL)),
        (build_claim(volumeName="v"), [build_volume("v")], Bind("v")),
        (build_claim(volumeName="v"), [build_volume("v", claim="c1")], Bind("v")),
        (build_claim(storageClassName=""), [build_volume("v", storageClassName=None)], Bind("v")),
        (build_claim(storageClassName="waiting", annotations=NOW), [], Provision(WAITING)),
        (build_claim(dataSource={"kind": "PersistentVolumeClaim", "name": "a"}), [build_volume()], Provision(LOCAL)),
    ],
    ids=[
        "provisioned",
        "matching volume",
        "volume of another claim",
        "reserved",
        "volume of this claim",
        "volume of an earlier claim",
        "named",
        "named and reserved",
        "without class",
        "immediate",
        "with a data source",
    ],
)
def test_claim_is_bound_or_provisioned(
    claim: PersistentVolumeClaim, volumes: list[PersistentVolume], step: Step
) -> None:
    assert decide(claim, *volumes) == step


@pytest.mark.parametrize(
    ("claim", "reason", "message"),
    [
        (build_claim(storageClassName="waiting"), "WaitForFirstConsumer", "waiting for first consumer"),
        (build_claim(storageClassName="no"), "ProvisioningFailed", 'storageclass.storage.k8s.io "no" not found'),
        (build_claim(storageClassName=""), "FailedBinding", "no storage class is set"),
        (build_claim(storageClassName=None), "FailedBinding", "there is no default storage class"),
        (build_claim(storageClassName="foreign"), "ExternalProvisioning", "ceph.example"),
        (build_claim(selector={"matchLabels": {"a": "b"}}), "ProvisioningFailed", "selector"),
        (build_claim(size=None), "FailedBinding", "spec.resources.requests.storage"),
        (build_claim(accessModes=None), "FailedBinding", "spec.accessModes"),
        (
            build_claim(volumeName="gone"),
            "FailedBinding",
            "volume gone not found; the claim refers to it in spec.volumeName",
        ),
        (build_claim(volumeName="taken"), "FailedBinding", "already bound to a different claim: default/c2"),
    ],
    ids=[
        "no consumer",
        "missing class",
        "no class",
        "no default class",
        "external provisioner",
        "selector",
        "no size",
        "no access mode",
        "missing volume",
        "taken volume",
    ],
)
def test_claim_that_cannot_be_bound_waits_with_a_reason(
    claim: PersistentVolumeClaim, reason: str, message: str
) -> None:
    step = decide(claim, build_volume("taken", claim="c2", uid="u2"))
    assert isinstance(step, Wait)
    assert step.reason == reason
    assert message in step.message


def test_first_consumer_triggers_provisioning() -> None:
    assert decide(build_claim(storageClassName="waiting"), has_consumer=True) == Provision(WAITING)


@pytest.mark.parametrize(
    ("claim", "volumes"),
    [
        (build_bound(), []),
        (build_bound(), [build_volume("pv-c1", claim="c2", uid="u2")]),
        (build_claim(phase="Bound"), []),
    ],
    ids=["volume gone", "volume taken", "simulated"],
)
def test_claim_whose_volume_is_missing_becomes_lost(
    claim: PersistentVolumeClaim, volumes: list[PersistentVolume]
) -> None:
    assert isinstance(decide(claim, *volumes), Lost)


@pytest.mark.parametrize(
    ("claim", "volume", "fits"),
    [
        (build_claim(), build_volume(), True),
        (build_claim(), build_volume(size="1023Mi"), False),
        (build_claim(), build_volume(phase="Released"), False),
        (build_claim(), build_volume(volumeMode="Block"), False),
        (build_claim(volumeMode="Block"), build_volume(volumeMode="Block"), True),
        (build_claim(accessModes=["ReadWriteMany"]), build_volume(), False),
        (build_claim(storageClassName="other"), build_volume(), False),
        (build_claim(selector={"matchLabels": {"a": "b"}}), build_volume(labels={"a": "b"}), True),
        (build_claim(selector={"matchLabels": {"a": "c"}}), build_volume(labels={"a": "b"}), False),
        (
            build_claim(selector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}),
            build_volume(labels={"a": "b"}),
            True,
        ),
        (
            build_claim(selector={"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}),
            build_volume(labels={"a": "b"}),
            False,
        ),
        (build_claim(selector={"matchExpressions": [{"key": "a", "operator": "Exists"}]}), build_volume(), False),
        (build_claim(selector={"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}), build_volume(), True),
        (build_claim(selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}), build_volume(), False),
    ],
    ids=[
        "same",
        "too small",
        "released volume",
        "only volume is a block device",
        "both are block devices",
        "access mode",
        "storage class",
        "label",
        "other label",
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "unknown operator",
    ],
)
def test_volume_must_satisfy_all_requirements_of_the_claim(
    claim: PersistentVolumeClaim, volume: PersistentVolume, fits: bool
) -> None:
    assert find_match(claim, [volume]) == (volume if fits else None)


def test_smallest_matching_volume_is_chosen() -> None:
    volumes = [build_volume("large", size="4Gi"), build_volume("small", size="2Gi"), build_volume("tiny", size="1Mi")]
    assert find_match(build_claim(), volumes) == volumes[1]


def test_newest_default_storage_class_is_used() -> None:
    defaults: list[StorageClass] = [
        build_class("old", default=True, created="2026-01-01T00:00:00Z"),
        build_class("new", default=True, created="2026-01-02T00:00:00Z"),
        build_class("none", created="2026-01-03T00:00:00Z"),
    ]
    claim = build_claim(storageClassName=None)
    assert decide_binding(claim, defaults, {}, OURS, has_consumer=False) == Provision(defaults[1])
