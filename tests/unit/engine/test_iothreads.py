"""I/O threads and launch security come completely from the instance type or from the VM."""

import pytest
from tests.support.engine import apply_to_domain, list_conflicts

from virtshape.api.model import JsonObject


@pytest.mark.parametrize(
    ("own", "given", "clashes"),
    [
        pytest.param({"supplementalPoolThreadCount": 1}, {"supplementalPoolThreadCount": 1}, True, id="both"),
        pytest.param({"supplementalPoolThreadCount": 0}, {"supplementalPoolThreadCount": 0}, True, id="zero is a size"),
        pytest.param({}, {"supplementalPoolThreadCount": 1}, False, id="VM pool without a size"),
        pytest.param({"supplementalPoolThreadCount": 1}, {}, False, id="instance type pool without a size"),
        pytest.param({"supplementalPoolThreadCount": 1}, None, False, id="no instance type pool"),
    ],
)
def test_io_thread_pools_conflict_only_if_vm_and_instance_type_set_a_size(
    own: JsonObject, given: JsonObject | None, clashes: bool
) -> None:
    expected = ["domain.ioThreads.supplementalPoolThreadCount"] if clashes else []
    assert list_conflicts({"ioThreads": own}, {"ioThreads": given}) == expected


def test_all_io_thread_and_launch_security_conflicts_are_reported() -> None:
    both: JsonObject = {
        "ioThreads": {"supplementalPoolThreadCount": 1},
        "ioThreadsPolicy": "auto",
        "launchSecurity": {"tdx": {}},
    }
    assert list_conflicts(both, both) == [
        "domain.ioThreads.supplementalPoolThreadCount",
        "domain.ioThreadsPolicy",
        "domain.launchSecurity",
    ]


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({}, {"supplementalPoolThreadCount": 1}),
        ({"supplementalPoolThreadCount": None}, {"supplementalPoolThreadCount": 1}),
    ],
)
def test_io_thread_pool_without_a_size_keeps_the_size_of_the_vm(given: JsonObject, result: JsonObject) -> None:
    domain = apply_to_domain({"ioThreads": {"supplementalPoolThreadCount": 1}}, {"ioThreads": given})
    assert domain["ioThreads"] == result


@pytest.mark.parametrize(
    ("field", "own"),
    [("ioThreadsPolicy", "auto"), ("launchSecurity", {"tdx": {}})],
)
def test_io_threads_policy_and_launch_security_of_the_vm_are_kept_if_the_instance_type_sets_none(
    field: str, own: object
) -> None:
    assert apply_to_domain({field: own}, {})[field] == own


def test_instance_type_launch_security_overrides_the_preferred_launch_security() -> None:
    domain = apply_to_domain(None, {"launchSecurity": {"tdx": {}}}, {"preferredLaunchSecurity": {"snp": {}}})
    assert domain["launchSecurity"] == {"tdx": {}}
