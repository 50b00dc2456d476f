import re

import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject


def _create(*arguments: str) -> JsonObject:
    return call_virtctl("create", "preference", *arguments).tree


def test_preference_without_flags_has_an_empty_spec() -> None:
    assert _create("--name=p") == {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "p"},
        "spec": {},
    }


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        (["--cpu-topology=any"], {"cpu": {"preferredCPUTopology": "any"}}),
        (["--machine-type=q35"], {"machine": {"preferredMachineType": "q35"}}),
        (["--machine-type="], {"machine": {}}),
        (["--volume-storage-class=fast"], {"volumes": {"preferredStorageClassName": "fast"}}),
        (["--volume-storage-class="], {"volumes": {}}),
        (["--disk-bus=SATA"], {"devices": {"preferredDiskBus": "sata"}}),
        (["--cdrom-bus=sata"], {"devices": {"preferredCdromBus": "sata"}}),
        (["--interface-model=e1000"], {"devices": {"preferredInterfaceModel": "e1000"}}),
        (["--firmware=efi"], {"firmware": {"preferredEfi": {"secureBoot": False}}}),
        (["--timezone=UTC"], {"clock": {"preferredClockOffset": {"utc": {}}}}),
    ],
)
def test_preference_flag_sets_its_field(arguments: list[str], spec: JsonObject) -> None:
    assert _create(*arguments)["spec"] == spec


@pytest.mark.parametrize(
    ("arguments", "kind", "name"),
    [
        ([], "VirtualMachineClusterPreference", "clusterpreference"),
        (["--namespaced"], "VirtualMachinePreference", "preference"),
        (["--namespace=shop"], "VirtualMachinePreference", "preference"),
    ],
)
def test_kind_of_a_created_preference_depends_on_the_scope(arguments: list[str], kind: str, name: str) -> None:
    tree = _create(*arguments)
    assert tree["kind"] == kind
    assert re.fullmatch(f"{name}-[a-z0-9]{{5}}", tree["metadata"]["name"])


def test_deprecated_preferred_topology_is_accepted_with_a_warning() -> None:
    outcome = call_virtctl("create", "preference", "--cpu-topology=preferCores")
    assert outcome.tree["spec"] == {"cpu": {"preferredCPUTopology": "preferCores"}}
    assert outcome.err == "warning: --cpu-topology preferCores is deprecated; use cores\n"


@pytest.mark.parametrize("topology", ["", "Cores", "preferAcross"])
def test_unknown_preferred_topology_is_rejected(topology: str) -> None:
    outcome = call_virtctl("create", "preference", f"--cpu-topology={topology}")
    assert outcome.status == 2
    assert "'--cpu-topology'" in outcome.err
