"""
The controller tests of the standalone server, unchanged, on a real control plane.

Tests of features of the standalone server and of request counts are omitted. Crashes are injected at every fifth
write instead of every write, because recovery takes seconds here.
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType

import pytest
from tests.cluster.components.installation import Installation
from tests.cluster.suites.clustersystem import open_cluster_system
from tests.integration.controllers import (
    test_crash,
    test_deleted_revisions,
    test_events,
    test_failures,
    test_garbage_collection,
    test_live_changes,
    test_policies,
    test_references,
    test_shared_revisions,
    test_trimmed_managed_fields,
    test_vm_lifecycle,
    test_volumes,
)
from tests.support.controllers import ControlledSystem, instancetype_tree

MODULES: tuple[ModuleType, ...] = (
    test_garbage_collection,
    test_crash,
    test_deleted_revisions,
    test_events,
    test_failures,
    test_vm_lifecycle,
    test_live_changes,
    test_policies,
    test_references,
    test_shared_revisions,
    test_trimmed_managed_fields,
    test_volumes,
)
OF_OUR_SERVER = {
    "test_events_expire_one_hour_after_their_last_occurrence": "the cluster expires events itself",
    "test_events_from_the_future_expire_after_the_clock_was_set_back": "the cluster expires events itself",
    "test_object_that_gets_another_owner_during_garbage_collection_is_kept": "a cluster has its own garbage collector",
}
STRIDE = 5
globals().update(
    {
        name: test
        for module in MODULES
        for name, test in vars(module).items()
        if name.startswith("test_") and callable(test) and name not in OF_OUR_SERVER
    }
)


@pytest.fixture(scope="module")
def collecting(installation: Installation) -> Installation:
    """A cluster whose garbage collector has discovered our kinds, which takes a while."""
    kubectl = installation.kubectl.in_namespace("default")
    owner = {**instancetype_tree("owner"), "kind": "VirtualMachineInstancetype"}
    kubectl.apply(owner)
    metadata = kubectl.get("vminstancetype", "owner")["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner", "uid": metadata["uid"]}
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [reference]}}
    kubectl.apply(owned)
    kubectl("delete", "vminstancetype", "owner")
    kubectl("wait", "configmap", "owned", "--for=delete", "--timeout=240s")
    return installation


@pytest.fixture(autouse=True)
def _on_a_cluster(collecting: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the tests against the control plane, with a crash at every fifth write."""

    def open_system(directory: Path) -> AbstractAsyncContextManager[ControlledSystem]:
        return open_cluster_system(collecting, directory)

    for module in MODULES:
        monkeypatch.setattr(module, "open_controlled_system", open_system, raising=False)
    monkeypatch.setattr(test_crash, "STRIDE", STRIDE)
