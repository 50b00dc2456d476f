"""
Screenshots of the console's pages, in light and dark.

`make screenshots` writes the images of the documentation; otherwise the screenshots are not kept.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import VMS, create

from virtshape.api.model import JsonObject

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
    "instancetype": ("/console/instancetypes/cx1.xlarge", ".trait"),
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_captured_in_light_and_dark(
    open_page: Callable[..., Page], fleet: System, tmp_path: Path, name: str, scheme: Literal["light", "dark"]
) -> None:
    path, content = PAGES[name]
    page = open_page(fleet, token=fleet.config["token"], color_scheme=scheme)
    page.goto(path)
    expect(page.locator(content).first).to_be_visible()
    if name == "create":
        page.get_by_label("Name", exact=True).fill("web-2")
        expect(page.get_by_text("runStrategy").first).to_be_visible()
        expect(page.get_by_text("Computing the result")).to_have_count(0)
    directory = Path(os.environ.get("VIRTSHAPE_SCREENSHOTS", tmp_path))
    target = directory / f"console-{name}-{scheme}.png"
    page.screenshot(path=target, animations="disabled", caret="hide")
    assert target.stat().st_size > 10_000
