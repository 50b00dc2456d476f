import re
from typing import Any

import pytest
from tests.support.commands import call_virtctl

Tree = dict[str, Any]


def _create(*words: str) -> Tree:
    return call_virtctl("create", "preference", *words).tree


def test_a_preference_of_nothing_is_a_preference_still() -> None:
    assert _create("--name=p") == {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "p"},
        "spec": {},
    }


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        (["--cpu-topology=any"], {"cpu": {"preferredCPUTopology": "any"}}),
        (["--machine-type=q35"], {"machine": {"preferredMachineType": "q35"}}),
        (["--machine-type="], {"machine": {}}),
        (["--volume-storage-class=fast"], {"volumes": {"preferredStorageClassName": "fast"}}),
        (["--volume-storage-class="], {"volumes": {}}),
    ],
)
def test_a_flag_becomes_a_field(words: list[str], spec: Tree) -> None:
    assert _create(*words)["spec"] == spec


@pytest.mark.parametrize(
    ("words", "kind", "name"),
    [
        ([], "VirtualMachineClusterPreference", "clusterpreference"),
        (["--namespaced"], "VirtualMachinePreference", "preference"),
        (["--namespace=shop"], "VirtualMachinePreference", "preference"),
    ],
)
def test_the_kind_follows_the_scope(words: list[str], kind: str, name: str) -> None:
    tree = _create(*words)
    assert tree["kind"] == kind
    assert re.fullmatch(f"{name}-[a-z0-9]{{5}}", tree["metadata"]["name"])


def test_an_older_topology_is_kept_and_warned_of() -> None:
    outcome = call_virtctl("create", "preference", "--cpu-topology=preferCores")
    assert outcome.tree["spec"] == {"cpu": {"preferredCPUTopology": "preferCores"}}
    assert outcome.err == "warning: --cpu-topology preferCores is deprecated; use cores\n"


@pytest.mark.parametrize("topology", ["", "Cores", "preferAcross"])
def test_a_topology_that_is_none_is_refused(topology: str) -> None:
    outcome = call_virtctl("create", "preference", f"--cpu-topology={topology}")
    assert outcome.status == 2
    assert "'--cpu-topology'" in outcome.err
