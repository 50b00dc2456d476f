"""
The tests of the controllers, unchanged, on a real control plane: what they say of our own server holds there too.

Left out is what they say of our server itself, of its storage and of its events; and those that count the writes after
which controllers die, since a cluster makes some of these writes itself. There leaders are killed as processes.
"""

from types import ModuleType
from typing import Any

import pytest
from tests.cluster.components.site import Site
from tests.cluster.whole.ground import placed
from tests.controlled import instancetype_tree
from tests.integration.control import (
    test_collecting,
    test_failures,
    test_life,
    test_livechange,
    test_policies,
    test_references,
    test_slim,
    test_volumes,
)

MODULES: tuple[ModuleType, ...] = (
    test_collecting,
    test_failures,
    test_life,
    test_livechange,
    test_policies,
    test_references,
    test_slim,
    test_volumes,
)
OF_OUR_SERVER = {
    "test_a_played_guest_is_paused_and_goes_on": "asks our server for subresources",
    "test_events_are_forgotten_an_hour_after_they_last_happened": "a cluster forgets events by itself",
    "test_disks_are_made_with_their_vm_and_the_vm_waits_for_them": "has our server's storage bind claims",
    "test_the_same_again_is_counted": "takes all events for its own, and a cluster tells others",
    "test_what_cannot_be_told_holds_nobody_up": "takes all events for its own",
    "test_events_tell_the_story": "takes all events for its own",
}
globals().update(
    {
        name: test
        for module in MODULES
        for name, test in vars(module).items()
        if name.startswith("test_") and callable(test) and name not in OF_OUR_SERVER
    }
)


@pytest.fixture(scope="module")
def collecting(site: Site) -> Site:
    """A cluster whose garbage collector has come to know our kinds, which takes it a while."""
    kubectl = site.kubectl.within("default")
    owner = {**instancetype_tree("owner"), "kind": "VirtualMachineInstancetype"}
    kubectl.apply(owner)
    metadata = kubectl.get("vminstancetype", "owner")["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner", "uid": metadata["uid"]}
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [reference]}}
    kubectl.apply(owned)
    kubectl("delete", "vminstancetype", "owner")
    kubectl("wait", "configmap", "owned", "--for=delete", "--timeout=55s")
    return site


@pytest.fixture(autouse=True)
def _on_a_cluster(collecting: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the tests stand on the plane, and take their time there."""

    def place(_: Any) -> Any:
        return placed(collecting)

    for module in MODULES:
        monkeypatch.setattr(module, "placed", place, raising=False)
    monkeypatch.setattr("tests.controlled.PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr("tests.controlled.CALM_SECONDS", 0.5)
    monkeypatch.setattr("tests.worlds.SECONDS", 120.0)
