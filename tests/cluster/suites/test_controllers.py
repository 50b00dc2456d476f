"""
The controller tests of the standalone server, unchanged, on a real control plane.

Tests of features of the standalone server and of request counts are left out. Crashes are injected at every fifth
write instead of every write, because recovery takes seconds here.
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType

import pytest
from tests.cluster.components.installation import Installation
from tests.cluster.suites.clustersystem import open_cluster_system
from tests.integration.controllers import (
    test_collecting,
    test_crash,
    test_deleted_revisions,
    test_events,
    test_failures,
    test_life,
    test_livechange,
    test_policies,
    test_references,
    test_slim,
    test_volumes,
)
from tests.support.controllers import ControlledSystem, instancetype_tree

MODULES: tuple[ModuleType, ...] = (
    test_collecting,
    test_crash,
    test_deleted_revisions,
    test_events,
    test_failures,
    test_life,
    test_livechange,
    test_policies,
    test_references,
    test_slim,
    test_volumes,
)
OF_OUR_SERVER = {"test_events_expire_one_hour_after_their_last_occurrence": "the cluster expires events itself"}
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
    kubectl("wait", "configmap", "owned", "--for=delete", "--timeout=55s")
    return installation


@pytest.fixture(autouse=True)
def _on_a_cluster(collecting: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the tests against the control plane, with longer timeouts."""

    def open_system(directory: Path) -> AbstractAsyncContextManager[ControlledSystem]:
        return open_cluster_system(collecting, directory)

    for module in MODULES:
        monkeypatch.setattr(module, "open_controlled_system", open_system, raising=False)
    monkeypatch.setattr(test_crash, "STRIDE", STRIDE)
