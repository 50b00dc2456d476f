import pytest
from tests.support.commands import call_virtctl

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.model import JsonObject
from virtshape.cli.kubevirt import build_verbosity, list_devices, read_verbosity


def build_kubevirt(**configuration: object) -> KubeVirt:
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "spec": {"configuration": configuration}}
    return from_tree(tree, KubeVirt)


def test_permitted_devices_are_listed_by_type() -> None:
    usb = [{"resourceName": "example.com/stick", "selectors": [{"vendor": "46f4", "product": "0001"}]}]
    assert list_devices(build_kubevirt(permittedHostDevices={"usb": usb})) == {
        "hostDevices": [],
        "gpuDevices": [],
        "usbDevices": ["example.com/stick"],
    }


def test_log_verbosity_of_a_component_is_two_by_default() -> None:
    shown = read_verbosity(build_kubevirt(developerConfiguration={"logVerbosity": {"virtAPI": 5}}))
    assert (shown["virt-api"], shown["virt-operator"]) == (5, 2)


ABSENT = dict.fromkeys(["virtController", "virtHandler", "virtLauncher", "virtOperator", "nodeVerbosity"])
PATCHES: dict[str, tuple[dict[str, int | str], bool, JsonObject | None]] = {
    "one component": ({"virt-api": 5}, False, {"virtAPI": 5}),
    "reset": ({}, True, None),
    "reset, then one component": ({"virt-api": 5}, True, {**ABSENT, "virtAPI": 5}),
    "all but one": (
        {"all": 3, "virt-api": 5},
        False,
        {"virtAPI": 5, "virtController": 3, "virtHandler": 3, "virtLauncher": 3, "virtOperator": 3},
    ),
}


@pytest.mark.parametrize(("flags", "reset", "patch"), PATCHES.values(), ids=PATCHES)
def test_log_verbosity_flags_are_converted_to_a_patch(
    flags: dict[str, int | str], reset: bool, patch: JsonObject | None
) -> None:
    assert build_verbosity(flags, reset=reset) == patch


ERRORS = {
    "nothing": ([], "no flag specified"),
    "show and set": (["--virt-api", "--virt-handler=3"], "only show or set is allowed"),
    "show and reset": (["--virt-api", "--reset"], "only show or set is allowed"),
    "too high": (["--all=11"], 'invalid log verbosity "11": must be 0-9.'),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_invalid_log_verbosity_flags_are_rejected_without_a_server(arguments: list[str], message: str) -> None:
    refused = call_virtctl("adm", "log-verbosity", *arguments)
    assert (refused.status, message in refused.err) == (2, True), refused.err
