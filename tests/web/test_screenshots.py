"""
Screenshots of the console's pages, in the light and the dark theme.

`make screenshots` writes the images of the documentation; otherwise they are written to a temporary directory.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, cast

import pytest
from playwright.sync_api import FilePayload, Page, expect
from tests.support.kubevirtdump import DUMP
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import VMS, create

from virtshape.api.model import JsonObject

Scheme = Literal["light", "dark"]
FLEET = {
    "build-runner-1": ("cx1.large", "ubuntu", "Always"),
    "build-runner-2": ("cx1.large", "ubuntu", "Always"),
    "cache": ("m1.large", "debian", "Always"),
    "desktop": ("u1.2xlarge", "windows.11", "Halted"),
    "mail": ("u1.medium", "opensuse.leap", "Always"),
    "web": ("u1.medium", "fedora", "Always"),
}
PAGES = {
    "vms": ("/console/vms", "tr:has-text('web'):has-text('Running')"),
    "vm": ("/console/vms/default/cache", "section[aria-label='Conditions'] .badge"),
    "create": ("/console/create?instancetype=u1.large&preference=fedora", ".origin-preference"),
    "instancetypes": ("/console/instancetypes?compare=cx1.large,cx1.xlarge", "tbody tr"),
    "series": ("/console/instancetypes?view=cards&preference=windows.11&series=u1", ".shape-reason"),
    "instancetype": ("/console/instancetypes/cx1.xlarge", ".capacity-total"),
    "matrix": ("/console/matrix?series=u1&os=windows", ".matrix-no"),
    "preferences": ("/console/preferences", ".shape-card"),
    "preference": ("/console/preferences/windows.11", ".fact"),
    "compatibility": ("/console/preferences/windows.11?tab=compatibility", ".compatibility-refused"),
    "comparison": ("/console/compare/instancetypes?names=u1.large,cx1.large,m1.large,rt1.large", ".differs"),
}


def build_vm(name: str, instancetype: str, preference: str, run_strategy: str) -> JsonObject:
    """Return a VM with an instance type and a preference from the catalog."""
    volume = {
        "name": "rootdisk",
        "containerDisk": {"image": f"quay.io/containerdisks/{preference.split('.')[0]}:latest"},
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": run_strategy,
            "instancetype": {"name": instancetype},
            "preference": {"name": preference},
            "template": {"spec": {"domain": {"devices": {}}, "volumes": [volume]}},
        },
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server with a few VMs that use the catalog."""
    with System(tmp_path_factory.mktemp("screenshots") / "data", "--launcher", "simulate") as server:
        for name, shape in FLEET.items():
            create(server, VMS, build_vm(name, *shape))
        wait_until(lambda: has_started(server), "the VMs do not start")
        yield server


def has_started(server: System) -> bool:
    """Return True if every VM that should run is running."""
    _, tree = server.request("GET", VMS)
    running = [vm for vm in tree["items"] if vm["spec"]["runStrategy"] == "Always"]
    return all(vm.get("status", {}).get("printableStatus") == "Running" for vm in running)


def capture(page: Page, name: str, scheme: Scheme, directory: Path) -> None:
    """Write a screenshot to $VIRTSHAPE_SCREENSHOTS or, if it is not set, to `directory`."""
    target = Path(os.environ.get("VIRTSHAPE_SCREENSHOTS", directory)) / f"console-{name}-{scheme}.png"
    page.screenshot(path=target, animations="disabled", caret="hide")
    assert target.stat().st_size > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_screenshot_of_the_page_is_taken(
    open_page: Callable[..., Page], fleet: System, tmp_path: Path, name: str, scheme: Scheme
) -> None:
    path, content = PAGES[name]
    page = open_page(fleet, token=fleet.config["token"], color_scheme=scheme)
    page.goto(path)
    expect(page.locator(content).first).to_be_visible()
    if name == "create":
        page.get_by_label("Name", exact=True).fill("web-2")
        expect(page.get_by_text("runStrategy").first).to_be_visible()
        expect(page.get_by_text("Computing the result")).to_have_count(0)
        expect(page.get_by_text("Universal", exact=True)).to_be_visible()  # shown when the instance type is loaded
    capture(page, name, scheme, tmp_path)


def open_recommendation(page: Page) -> None:
    """Open the dialog that recommends instance types, with results."""
    page.goto("/console/create?preference=windows.11")
    page.get_by_role("button", name="Recommend…").click()
    page.get_by_label("Minimum vCPUs").fill("4")
    page.get_by_label("Minimum memory").fill("10Gi")
    expect(page.get_by_text("10Gi of 16Gi needed").first).to_be_visible()


def open_change(page: Page) -> None:
    """Open the dialog that changes the instance type of a VM, with a preview."""
    page.goto("/console/vms/default/web")
    page.get_by_role("button", name="Change instance type…").click()
    picker = page.get_by_role("combobox", name="New instance type")
    picker.click()
    picker.fill("u1.large")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text("u1.large")
    picker.press("Enter")
    expect(page.get_by_text("gets the changes immediately")).to_be_visible()


def open_import(page: Page) -> None:
    """Open the plan of an import, with the dropped fields of a VM."""
    page.goto("/console/import")
    dump = {"name": "dump.yaml", "mimeType": "application/yaml", "buffer": DUMP.encode()}
    page.get_by_label("Files").set_input_files([cast("FilePayload", dump)])
    page.get_by_role("button", name="Show plan").click()
    vm = page.get_by_role("row").filter(has_text="VirtualMachine in shop")
    vm.get_by_text("fields changed").click()
    expect(vm).to_contain_text("Halted in the imported object")


OPENED = {"recommend": open_recommendation, "change": open_change, "import": open_import}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", OPENED)
def test_screenshot_of_the_opened_dialog_or_plan_is_taken(
    open_page: Callable[..., Page], fleet: System, tmp_path: Path, name: str, scheme: Scheme
) -> None:
    page = open_page(fleet, token=fleet.config["token"], color_scheme=scheme)
    OPENED[name](page)
    capture(page, name, scheme, tmp_path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshot_of_the_sign_in_page_is_taken(
    open_page: Callable[..., Page], fleet: System, tmp_path: Path, scheme: Scheme
) -> None:
    page = open_page(fleet, color_scheme=scheme)
    page.set_viewport_size({"width": 720, "height": 540})
    page.goto("/console/")
    expect(page.get_by_label("Token")).to_be_visible()
    capture(page, "signin", scheme, tmp_path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshot_with_the_size_of_a_phone_is_taken(
    open_page: Callable[..., Page], fleet: System, tmp_path: Path, scheme: Scheme
) -> None:
    page = open_page(fleet, token=fleet.config["token"], color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/console/instancetypes?series=u1")
    expect(page.locator(".shape-card").first).to_be_visible()
    capture(page, "phone", scheme, tmp_path)
