from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.quantity import Quantity
from virtshape.catalog import series
from virtshape.engine.sizingpolicy import read_policy

PREFIX = "instancetype.kubevirt.io/"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("u1", "nano micro small medium 2xmedium large xlarge 2xlarge 4xlarge 8xlarge"),
        ("o1", "nano micro small medium large xlarge 2xlarge 4xlarge 8xlarge custom"),
        ("d1", "nano micro small medium 2xmedium large xlarge 2xlarge 4xlarge 8xlarge custom"),
        (
            "cx1",
            (
                "medium medium1gi large large1gi xlarge xlarge1gi 2xlarge 2xlarge1gi 4xlarge 4xlarge1gi "
                "8xlarge 8xlarge1gi custom"
            ),
        ),
        ("m1", "large large1gi xlarge xlarge1gi 2xlarge 2xlarge1gi 4xlarge 4xlarge1gi 8xlarge 8xlarge1gi custom"),
        ("n1", "medium large xlarge 2xlarge 4xlarge 8xlarge custom"),
        ("rt1", "micro small medium large xlarge 2xlarge 4xlarge 8xlarge custom"),
    ],
)
def test_sizes_of_a_series_are_listed_from_small_to_large_with_the_custom_size_last(name: str, sizes: str) -> None:
    assert series.list_sizes(series.SERIES[name]) == sizes.split()


DEDICATED = {"dedicatedCPUPlacement": True, "isolateEmulatorThread": True}
NUMA: dict[str, Any] = {"guestMappingPassthrough": {}}
QUIET = {
    "cpu-load-balancing.crio.io": "disable",
    "cpu-quota.crio.io": "disable",
    "irq-load-balancing.crio.io": "disable",
}

UNIVERSAL_MEMORY = {"step": "512Mi", "perVCPU": {"min": "512Mi", "max": "16Gi"}}


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        (
            "o1.custom",
            {"cpu": {"limits": {"min": 1, "max": 32}}, "memory": {"overcommitPercent": 50, "limits": UNIVERSAL_MEMORY}},
        ),
        (
            "d1.custom",
            {
                "cpu": {**DEDICATED, "limits": {"min": 1, "max": 32}},
                "ioThreadsPolicy": "auto",
                "memory": {"limits": UNIVERSAL_MEMORY},
            },
        ),
        (
            "cx1.custom",
            {
                "cpu": {**DEDICATED, "numa": NUMA, "limits": {"min": 1, "max": 32}},
                "ioThreadsPolicy": "auto",
                "memory": {
                    "hugepages": {"pageSize": "2Mi"},
                    "limits": {"step": "512Mi", "perVCPU": {"min": "1Gi", "max": "4Gi"}},
                },
            },
        ),
        (
            "m1.custom",
            {
                "cpu": {"limits": {"min": 1, "max": 32}},
                "memory": {
                    "hugepages": {"pageSize": "2Mi"},
                    "limits": {"step": "1Gi", "perVCPU": {"min": "4Gi", "max": "16Gi"}},
                },
            },
        ),
        (
            "n1.custom",
            {
                "cpu": {**DEDICATED, "limits": {"min": 2, "max": 64, "step": 2}},
                "annotations": QUIET,
                "memory": {
                    "hugepages": {"pageSize": "1Gi"},
                    "limits": {"step": "1Gi", "perVCPU": {"min": "1Gi", "max": "4Gi"}},
                },
            },
        ),
        (
            "rt1.custom",
            {
                "cpu": {**DEDICATED, "numa": NUMA, "realtime": {}, "limits": {"min": 1, "max": 32}},
                "annotations": QUIET,
                "memory": {
                    "hugepages": {"pageSize": "1Gi"},
                    "limits": {"step": "1Gi", "perVCPU": {"min": "1Gi", "max": "8Gi"}},
                },
            },
        ),
    ],
)
def test_custom_size_has_limits_and_the_features_of_its_series(name: str, spec: dict[str, Any]) -> None:
    assert series.describe(name)["spec"] == spec


@pytest.mark.parametrize("name", [name for name, each in series.SERIES.items() if each.custom])
def test_limits_of_a_custom_size_allow_every_fixed_size_of_the_series(name: str) -> None:
    policy = read_policy(from_tree(series.describe(f"{name}.custom")["spec"], VirtualMachineInstancetypeSpec))
    sizes = series.SERIES[name].sizes.values()
    assert [(n, memory) for n, memory in sizes if policy.find_size(n, Quantity(memory)) != (n, memory)] == []


def test_custom_size_has_custom_labels() -> None:
    assert series.describe("cx1.custom")["metadata"]["labels"] == {
        f"{PREFIX}class": "compute.exclusive",
        f"{PREFIX}cpu": "custom",
        f"{PREFIX}dedicatedCPUPlacement": "true",
        f"{PREFIX}hugepages": "2Mi",
        f"{PREFIX}icon-pf": "pficon-registry",
        f"{PREFIX}isolateEmulatorThread": "true",
        f"{PREFIX}memory": "custom",
        f"{PREFIX}numa": "true",
        f"{PREFIX}vendor": "kubevirt.io",
        f"{PREFIX}version": "1",
        f"{PREFIX}size": "custom",
        f"{PREFIX}common-instancetypes-version": "v1.2.0",
    }


def test_max_sockets_of_the_cx1_series_equals_its_vcpus() -> None:
    assert series.describe("cx1.xlarge")["spec"]["cpu"]["maxSockets"] == 4


@pytest.mark.parametrize(("name", "page_size"), [("m1.large", "2Mi"), ("m1.large1gi", "1Gi"), ("rt1.large", "1Gi")])
def test_instancetype_with_hugepages_is_labelled_with_the_page_size(name: str, page_size: str) -> None:
    described = series.describe(name)
    assert described["spec"]["memory"]["hugepages"] == {"pageSize": page_size}
    assert described["metadata"]["labels"][f"{PREFIX}hugepages"] == page_size


def test_series_have_unique_titles_and_descriptions() -> None:
    texts = [(each.title, each.description) for each in series.SERIES.values()]
    assert all(title and description.endswith(".") for title, description in texts)
    assert len(set(texts)) == len(texts)


def test_description_of_a_custom_size_mentions_that_the_vm_sets_the_size() -> None:
    text = series.describe("o1.custom")["metadata"]["annotations"][f"{PREFIX}description"]
    assert text == series.SERIES["o1"].description + " The VM sets its own vCPUs and memory, within limits."
