"""The console on the screen of a phone: nothing scrolls sideways, and every page shows its main actions."""

from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect
from tests.support.upprocess import System
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create

PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
FITS = """() => [document.scrollingElement, document.querySelector("main"), document.querySelector("dialog")]
    .filter((element) => element && element.scrollWidth > element.clientWidth).map((element) => element.tagName)"""
SHIFTS = """window.shift = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
    window.shift += entry.value })).observe({type: "layout-shift", buffered: true})"""
PAGES: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "VMs": {
        "/console/vms": ("link", "Create a VM"),
        "/console/vms/default/pocket": ("button", "Delete…"),
        "/console/vms/default/pocket?tab=events": ("tab", "Screen"),
        "/console/vms/default/pocket?tab=yaml": ("button", "Copy"),
        "/console/vms/default/pocket?tab=console": ("button", "Connect again"),
        "/console/vms/default/missing": ("link", "Show the virtual machines"),
        "/console/import": ("link", "Virtual machines"),
        "/console/create?instancetype=cx1.custom&preference=windows.11": ("button", "Create"),
    },
    "instance types": {
        "/console/instancetypes": ("checkbox", "Compare cx1.large"),
        "/console/instancetypes?view=table": ("checkbox", "Compare cx1.large"),
        "/console/instancetypes?preference=windows.11": ("checkbox", "Compare cx1.medium"),
        "/console/instancetypes?view=table&preference=windows.11": ("button", "Filters (1)"),
        "/console/instancetypes?compare=u1.small,u1.large": ("link", "Compare"),
        "/console/instancetypes/cx1.large": ("link", "Create a VM"),
        "/console/instancetypes/cx1.large?tab=vms": ("button", "Customize"),
        "/console/instancetypes/cx1.large?tab=compatibility": ("link", "fedora"),
        "/console/matrix": ("link", "Instance types"),
        "/console/compare/instancetypes?names=u1.large,cx1.large,m1.large,rt1.large": ("link", "Choose others"),
    },
    "preferences": {
        "/console/preferences": ("checkbox", "Compare fedora"),
        "/console/preferences/windows.11": ("button", "Customize"),
    },
}
"""The pages of each group, with the role and the name of a control that must be reachable on the page."""


@pytest.fixture
def phone(open_page: Callable[..., Page], server: System) -> Page:
    """A page with the size of a phone's screen, signed in as the administrator."""
    page = open_page(server, token=server.config["token"])
    page.set_viewport_size(PHONE)
    return page


@pytest.fixture(scope="module", autouse=True)
def objects(server: System) -> None:
    """A VM and a namespaced instance type that the pages show."""
    create(server, VMS, build_vm("pocket"))
    create(server, INSTANCETYPES, build_instancetype("aaa.pocket"))


def assert_reachable(control: Locator) -> None:
    """Assert that a control can be scrolled into view and clicked, and is within the screen."""
    control.click(trial=True)
    box = control.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize("group", PAGES)
def test_pages_fit_the_screen_of_a_phone_and_show_their_main_action(phone: Page, group: str) -> None:
    phone.add_init_script(SHIFTS)
    for path, (role, name) in PAGES[group].items():
        phone.goto(path)
        control = phone.get_by_role("main").get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]  # a Literal
        expect(control).to_be_visible()
        assert phone.evaluate(FITS) == [], path
        assert_reachable(control)
        shift = phone.evaluate("window.shift")  # the cumulative layout shift
        assert shift < 0.1, path


@pytest.mark.parametrize("path", ["instancetypes/cx1.large", "preferences/windows.11"])
def test_customize_dialog_fits_a_phone(phone: Page, path: str) -> None:
    phone.goto(f"/console/{path}")
    phone.get_by_role("button", name="Customize").click()
    assert phone.evaluate(FITS) == []
    assert_reachable(phone.get_by_role("dialog").get_by_role("button", name="Create"))


def test_header_on_a_phone_has_links_to_all_pages_the_namespace_and_the_user_menu(phone: Page) -> None:
    phone.goto("/console/vms")
    for name in ("VMs", "Create", "Instance types", "Preferences"):
        assert_reachable(phone.get_by_role("navigation").get_by_role("link", name=name, exact=True))
    assert_reachable(phone.get_by_label("Namespace"))
    phone.get_by_role("button", name="User admin").click()
    assert_reachable(phone.get_by_label("Theme"))
    assert_reachable(phone.get_by_role("button", name="Sign out"))
    phone.keyboard.press("Escape")
    expect(phone.get_by_role("button", name="Sign out")).to_be_hidden()


def test_filters_are_shown_by_a_button_on_a_phone(phone: Page) -> None:
    phone.goto("/console/instancetypes")
    series = phone.get_by_label("Series")
    expect(series).to_be_hidden()
    phone.get_by_role("button", name="Filters").click()
    series.select_option("u1")
    expect(phone.get_by_role("link", name="cx1.large", exact=True)).to_have_count(0)
    expect(phone.get_by_role("button", name="Filters (1)")).to_be_visible()
    assert_reachable(phone.get_by_label("Compatible with preference"))


def test_vm_list_shows_the_size_below_the_name_on_a_phone(phone: Page) -> None:
    phone.goto("/console/vms")
    row = phone.get_by_role("row", name="pocket")
    expect(row.get_by_text("1 vCPU · 256Mi").first).to_be_visible()
