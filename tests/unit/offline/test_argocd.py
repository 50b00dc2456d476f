"""The settings of Argo CD, with the health check run by Lua 5.1."""

from typing import Any

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from virtshape.api.model import JsonObject
from virtshape.offline.argocd import build_config_map, build_ignored, list_ignored, read_health_check

READY = {"type": "Ready", "status": "True"}
NO_CLAIM = {"type": "DataVolumesReady", "status": "False", "message": "PVC root not found"}
STATUSES = {
    "CrashLoopBackOff": "Degraded",
    "DataVolumeError": "Degraded",
    "ErrImagePull": "Degraded",
    "ErrorPvcNotFound": "Degraded",
    "ErrorUnschedulable": "Degraded",
    "ImagePullBackOff": "Degraded",
    "Migrating": "Healthy",
    "Paused": "Suspended",
    "Provisioning": "Progressing",
    "Running": "Healthy",
    "Starting": "Progressing",
    "Stopped": "Suspended",
    "Stopping": "Progressing",
    "Terminating": "Progressing",
    "Unknown": "Unknown",
    "WaitingForReceiver": "Progressing",
    "WaitingForVolumeBinding": "Progressing",
}
"""Every printable status of KubeVirt, with the health of a VM in this status."""


def check_health(status: JsonObject | None, **spec: Any) -> tuple[str, str]:
    """Run the health check on a VM; return the health status and the message."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    tree = {"spec": {"runStrategy": "Halted"} | spec} | ({"status": status} if status is not None else {})
    lua.globals()["obj"] = lua.table_from(tree, recursive=True)
    for library in ("io", "os", "string", "math", "debug"):  # Argo CD does not provide these libraries
        lua.globals()[library] = None
    result: Any = lua.execute(read_health_check())
    return result["status"], result["message"]


@pytest.mark.parametrize(("printable", "health"), STATUSES.items(), ids=STATUSES)
def test_argocd_health_depends_on_the_printable_status(printable: str, health: str) -> None:
    assert check_health({"printableStatus": printable, "conditions": [READY]})[0] == health


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        (None, {}, ("Progressing", "Waiting for the VM controller")),
        ({}, {}, ("Progressing", "Waiting for the VM controller")),
        ({"printableStatus": "Running"}, {}, ("Progressing", "The VM is running, but not ready")),
        (
            {"printableStatus": "Stopped"},
            {"runStrategy": "Always"},
            ("Progressing", "Waiting for the VM to start"),
        ),
        (
            {"printableStatus": "Stopped"},
            {"runStrategy": None, "running": True},
            ("Progressing", "Waiting for the VM to start"),
        ),
        (
            {"printableStatus": "ErrorPvcNotFound", "conditions": [NO_CLAIM]},
            {},
            ("Degraded", "ErrorPvcNotFound: PVC root not found"),
        ),
        (
            {
                "printableStatus": "Starting",
                "conditions": [{"type": "Failure", "status": "True", "message": "no node"}],
            },
            {},
            ("Degraded", "Starting: no node"),
        ),
        (
            {
                "printableStatus": "Running",
                "conditions": [READY, {"type": "RestartRequired", "status": "True", "message": "restart it"}],
            },
            {},
            ("Healthy", "restart it"),
        ),
    ],
    ids=["new", "empty", "not ready", "to be started", "running", "no claim", "failure", "restart"],
)
def test_argocd_health_check_returns_the_expected_status_and_message(
    status: JsonObject | None, spec: JsonObject, expected: tuple[str, str]
) -> None:
    assert check_health(status, **spec) == expected


def test_argocd_config_map_has_the_health_check_and_the_ignored_fields() -> None:
    tree = build_config_map("argo")
    assert (tree["metadata"]["name"], tree["metadata"]["namespace"]) == ("argocd-cm", "argo")
    data = tree["data"]
    assert data["resource.customizations.health.kubevirt.io_VirtualMachine"] == read_health_check()
    ignored = yaml.safe_load(data["resource.customizations.ignoreDifferences.kubevirt.io_VirtualMachine"])
    assert ignored == {"jsonPointers": list_ignored()}


def test_argocd_application_does_not_overwrite_ignored_fields_in_a_sync() -> None:
    (ignored,) = build_ignored()["ignoreDifferences"]
    assert (ignored["group"], ignored["kind"]) == ("kubevirt.io", "VirtualMachine")
    assert build_ignored()["syncPolicy"] == {"syncOptions": ["RespectIgnoreDifferences=true"]}


def test_argocd_ignores_the_run_strategy_on_request() -> None:
    more = set(list_ignored(run_strategy=True)) - set(list_ignored())
    assert more == {"/spec/runStrategy", "/spec/running"}
