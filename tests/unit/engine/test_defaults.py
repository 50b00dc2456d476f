"""Defaults of VMI fields that are not set."""

import pytest
from tests.support.build import build_spec

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.engine.defaults import apply_defaults

ONE: JsonObject = {"sockets": 1, "cores": 1, "threads": 1}
BARE: JsonObject = {
    "architecture": "amd64",
    "evictionStrategy": "None",
    "domain": {"cpu": ONE, "memory": {}, "machine": {"type": "q35"}, "devices": {}},
}


def complete(
    domain: JsonObject | None = None,
    configuration: JsonObject | None = None,
    default_architecture: str = "amd64",
    **spec: object,
) -> JsonObject:
    built = build_spec(domain, **spec)
    config = None if configuration is None else from_tree(configuration, KubeVirtConfiguration)
    apply_defaults(built, config, default_architecture)
    tree: JsonObject = to_tree(built)
    return tree


def test_empty_domain_gets_all_defaults() -> None:
    assert complete() == BARE
    assert complete(configuration={}) == BARE


@pytest.mark.parametrize(
    ("own", "default", "expected", "machine"),
    [
        (None, "amd64", "amd64", "q35"),
        (None, "arm64", "arm64", "virt"),
        ("", "s390x", "s390x", "s390-ccw-virtio"),
        ("arm64", "amd64", "arm64", "virt"),
    ],
)
def test_default_machine_type_follows_the_architecture(
    own: str | None, default: str, expected: str, machine: str
) -> None:
    spec = complete(default_architecture=default, architecture=own)
    assert (spec["architecture"], spec["domain"]["machine"]) == (expected, {"type": machine})


@pytest.mark.parametrize(
    ("own", "machine"), [(None, "q35"), ({}, "q35"), ({"type": ""}, "q35"), ({"type": "pc"}, "pc")]
)
def test_default_machine_type_is_set_only_if_unset(own: JsonObject | None, machine: str) -> None:
    assert complete({"machine": own})["domain"]["machine"] == {"type": machine}


@pytest.mark.parametrize(
    ("own", "configured", "expected"),
    [
        (None, None, "None"),
        (None, "LiveMigrate", "LiveMigrate"),
        ("External", "LiveMigrate", "External"),
        ("", "LiveMigrate", ""),
    ],
)
def test_default_eviction_strategy_is_set_only_if_unset(own: str | None, configured: str | None, expected: str) -> None:
    assert complete(None, {"evictionStrategy": configured}, evictionStrategy=own)["evictionStrategy"] == expected


@pytest.mark.parametrize(
    ("domain", "cpu"),
    [
        pytest.param({}, ONE, id="nothing"),
        pytest.param({"cpu": {}}, ONE, id="empty"),
        pytest.param({"cpu": {"model": "m"}}, {**ONE, "model": "m"}, id="only a model"),
        pytest.param({"cpu": {"cores": 2}}, {"cores": 2}, id="one member"),
        pytest.param({"cpu": {"sockets": 0, "cores": 0}}, ONE, id="zero members"),
        pytest.param({"resources": {"limits": {"cpu": "2500m"}}}, {**ONE, "sockets": 3}, id="limit, rounded up"),
        pytest.param({"resources": {"requests": {"cpu": "4"}}}, {**ONE, "sockets": 4}, id="request"),
        pytest.param(
            {"resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}},
            {**ONE, "sockets": 2},
            id="limit before request",
        ),
        pytest.param({"resources": {"limits": {"cpu": "4294967298"}}}, {**ONE, "sockets": 2}, id="beyond 32 bits"),
        pytest.param(
            {"cpu": {"threads": 2}, "resources": {"limits": {"cpu": "8"}}},
            {"threads": 2},
            id="topology of the VM before the limit",
        ),
    ],
)
def test_default_topology_is_set_only_if_unset(domain: JsonObject, cpu: JsonObject) -> None:
    assert complete(domain)["domain"]["cpu"] == cpu


@pytest.mark.parametrize(
    ("domain", "configured", "requests"),
    [
        pytest.param({}, None, None, id="nothing"),
        pytest.param({}, "100m", None, id="standard request is not written"),
        pytest.param({}, "0.1", None, id="standard request in another notation"),
        pytest.param({}, "200m", {"cpu": "200m"}, id="configured"),
        pytest.param({"cpu": {"dedicatedCpuPlacement": True}}, "200m", None, id="dedicated"),
        pytest.param({"resources": {"requests": {"cpu": "1"}}}, "200m", {"cpu": "1"}, id="request of the VM"),
        pytest.param({"resources": {"limits": {"cpu": "2"}}}, "200m", {"cpu": "2"}, id="limit of the VM"),
        pytest.param(
            {"resources": {"limits": {"cpu": "2"}, "requests": {"memory": "1Gi"}}},
            None,
            {"memory": "1Gi", "cpu": "2"},
            id="limit of the VM and another request",
        ),
        pytest.param({"resources": {"requests": {"cpu": "0"}}}, "200m", {"cpu": "200m"}, id="zero request"),
    ],
)
def test_default_cpu_request_is_set_only_if_unset(
    domain: JsonObject, configured: str | None, requests: JsonObject | None
) -> None:
    resources = complete(domain, {"cpuRequest": configured})["domain"].get("resources", {})
    assert resources.get("requests") == requests


@pytest.mark.parametrize(
    ("domain", "memory"),
    [
        ({}, {}),
        ({"memory": {"guest": "2Gi"}, "resources": {"requests": {"memory": "1Gi"}}}, {"guest": "2Gi"}),
        ({"resources": {"requests": {"memory": "1Gi"}}}, {"guest": "1Gi"}),
        (
            {"memory": {"hugepages": {"pageSize": "2Mi"}}},
            {"guest": "2Mi", "hugepages": {"pageSize": "2Mi"}},
        ),
    ],
    ids=["nothing", "VM memory", "request", "one huge page"],
)
def test_unset_memory_defaults_to_the_request_or_one_huge_page(domain: JsonObject, memory: JsonObject) -> None:
    assert complete(domain)["domain"]["memory"] == memory


@pytest.mark.parametrize(
    ("image", "own", "policy"),
    [
        ("fedora", None, "Always"),
        ("fedora:latest", None, "Always"),
        ("fedora:40", None, "IfNotPresent"),
        ("registry:5000/fedora:devel", None, "IfNotPresent"),
        ("fedora@sha256:0", None, "IfNotPresent"),
        ("fedora:latest", "Never", "Never"),
    ],
)
def test_pull_policy_defaults_to_always_only_for_latest(image: str, own: str | None, policy: str) -> None:
    source = {"image": image, "imagePullPolicy": own}
    spec = complete(
        {"firmware": {"kernelBoot": {"container": source}}},
        volumes=[{"name": "v", "containerDisk": source}, {"name": "w", "emptyDisk": {"capacity": "1Gi"}}],
    )
    assert spec["volumes"][0]["containerDisk"] == {"image": image, "imagePullPolicy": policy}
    assert spec["volumes"][1] == {"name": "w", "emptyDisk": {"capacity": "1Gi"}}
    kernel = {"image": image} if own is None else {"image": image, "imagePullPolicy": own}
    assert spec["domain"]["firmware"]["kernelBoot"]["container"] == kernel, "as in KubeVirt, only disks get a default"


def test_applying_defaults_twice_has_the_same_result_as_applying_them_once() -> None:
    spec = build_spec({"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}})
    apply_defaults(spec, None)
    once = to_tree(spec)
    apply_defaults(spec, None)
    assert to_tree(spec) == once
