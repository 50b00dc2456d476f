"""Capacity, recommendations, the compatibility matrix and changes of a VM's type, in a browser."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.support.axe import list_violations
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import (
    INSTANCETYPES,
    PREFERENCES,
    VMS,
    build_instancetype,
    build_preference,
    build_vm,
    create,
)


def choose(scope: Page | Locator, label: str, text: str) -> None:
    """Choose an option in a combobox: type its text and press Enter."""
    picker = scope.get_by_role("combobox", name=label)
    picker.click()
    picker.fill(text)
    expect(scope.get_by_role("listbox").get_by_role("option").first).to_contain_text(text)
    picker.press("Enter")


def open_change(page: Page, name: str) -> Locator:
    """Open the dialog that changes the instance type of a VM."""
    page.goto(f"/console/vms/default/{name}")
    page.get_by_role("button", name="Change instance type…").click()
    return page.get_by_role("dialog")


def test_change_of_an_instancetype_is_previewed_and_applied_to_the_running_guest(
    signed_in_page: Page, server: System
) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("moves.small", memory="1Gi"))
    create(server, INSTANCETYPES, build_instancetype("moves.large", vcpus=2, memory="2Gi"))
    create(server, VMS, build_vm("moving", instancetype="moves.small"))
    wait_until(lambda: server.request("GET", f"{VMS}/moving")[1].get("status", {}).get("ready"), "not ready")
    dialog = open_change(page, "moving")
    expect(dialog.get_by_role("button", name="Change moving")).to_be_disabled()
    choose(dialog, "New instance type", "moves.large")
    expect(dialog.get_by_role("row", name="spec.domain.memory.guest")).to_contain_text("1Gi")
    expect(dialog.get_by_role("row", name="spec.domain.memory.guest")).to_contain_text("2Gi")
    expect(dialog.get_by_text("The running guest gets the changes immediately.")).to_be_visible()
    assert list_violations(page) == []
    dialog.get_by_role("button", name="Change moving").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("moves.large")
    assert server.request("GET", f"{VMS}/moving")[1]["spec"]["instancetype"]["name"] == "moves.large"


def test_change_that_requires_a_restart_shows_the_reason(signed_in_page: Page, server: System) -> None:
    create(server, INSTANCETYPES, build_instancetype("shrinks.large", memory="2Gi"))
    create(server, INSTANCETYPES, build_instancetype("shrinks.small", memory="1Gi"))
    create(server, VMS, build_vm("shrinking", instancetype="shrinks.large"))
    wait_until(lambda: server.request("GET", f"{VMS}/shrinking")[1].get("status", {}).get("ready"), "not ready")
    dialog = open_change(signed_in_page, "shrinking")
    choose(dialog, "New instance type", "shrinks.small")
    expect(dialog.get_by_text("Reduction of memory requires a restart: 2Gi to 1Gi")).to_be_visible()
    expect(dialog.get_by_role("button", name="Change shrinking")).to_be_enabled()


def test_change_that_is_not_possible_shows_the_reasons_and_cannot_be_applied(
    signed_in_page: Page, server: System
) -> None:
    create(server, INSTANCETYPES, build_instancetype("stays.small"))
    create(server, PREFERENCES, build_preference("stays.demanding", vcpus=4))
    create(server, VMS, build_vm("staying", run_strategy="Halted", instancetype="stays.small"))
    dialog = open_change(signed_in_page, "staying")
    dialog.get_by_label("Change", exact=True).select_option("Preference")
    choose(dialog, "New preference", "stays.demanding")
    expect(dialog.get_by_role("alert")).to_contain_text("preference requires 4 vCPU")
    expect(dialog.get_by_role("button", name="Change staying")).to_be_disabled()


def test_viewer_cannot_change_the_instancetype_of_a_vm(viewer_page: Page, server: System) -> None:
    create(server, VMS, build_vm("unchanged", run_strategy="Halted"))
    viewer_page.goto("/console/vms/default/unchanged")
    expect(viewer_page.get_by_role("button", name="Change instance type…")).to_be_disabled()


def test_instancetype_page_shows_how_many_vms_fit_on_each_node(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes/cx1.large")
    capacity = page.get_by_role("region", name="Capacity")
    expect(capacity).to_contain_text("more VMs fit")
    expect(capacity.get_by_role("listitem").filter(has_text="simulated")).to_contain_text("of cpu left, 3 needed")
    page.goto("/console/instancetypes/cx1.custom")
    expect(capacity).to_contain_text("VMs set their size")


def test_viewer_sees_the_number_of_fitting_vms_but_no_node_names(viewer_page: Page) -> None:
    viewer_page.goto("/console/instancetypes/cx1.large")
    capacity = viewer_page.get_by_role("region", name="Capacity")
    expect(capacity).to_contain_text("The next one is blocked by cpu (1 node).")
    expect(capacity).not_to_contain_text("simulated")


def test_form_for_new_vms_warns_if_the_vm_fits_on_no_node(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("fits.huge", memory="9000Ti"))
    page.goto("/console/create?instancetype=u1.medium")
    expect(page.get_by_text("more VMs fit")).to_contain_text("The next one is blocked by memory (1 node).")
    page.goto("/console/create?instancetype=VirtualMachineInstancetype/fits.huge")
    expect(page.get_by_text("No more VMs fit")).to_have_class("notice notice-warning")


def test_recommended_instancetype_is_used_in_the_form(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/create?preference=windows.11")
    page.get_by_role("button", name="Recommend…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Minimum vCPUs").fill("4")
    dialog.get_by_label("Minimum memory").fill("10Gi")
    dialog.get_by_label("CPUs", exact=True).select_option("Shared")
    first = dialog.get_by_role("list", name="Recommended instance types").get_by_role("listitem").first
    expect(first).to_contain_text("u1.xlarge")
    expect(first).to_contain_text("Waste 0% CPU, 38% memory")
    assert list_violations(page) == []
    dialog.get_by_role("button", name="Use u1.xlarge").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("combobox", name="Instance type")).to_have_value("u1.xlarge")


def test_recommended_custom_size_sets_the_sliders(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/create")
    page.get_by_role("button", name="Recommend…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Minimum vCPUs").fill("5")
    dialog.get_by_label("Minimum memory").fill("12Gi")
    dialog.get_by_label("Include instance types that leave the size to the VM").check()
    dialog.get_by_role("button", name="Use d1.custom").click()
    expect(page.get_by_role("slider", name="vCPUs")).to_have_attribute("aria-valuetext", "5 vCPU")
    expect(page.get_by_role("slider", name="Memory")).to_have_attribute("aria-valuetext", "12Gi")


def test_instancetype_like_that_of_a_cloud_is_recommended(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/create")
    page.get_by_role("button", name="Recommend…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Like").fill("azure:D4s_v5")
    expect(dialog.get_by_label("Minimum vCPUs")).to_have_value("")  # the size of the cloud's type replaces the minimums
    expect(dialog.get_by_label("Minimum memory")).to_have_value("")
    found = dialog.get_by_role("list", name="Recommended instance types").get_by_role("listitem")
    expect(found.first).to_contain_text("4 of 4 vCPUs needed; 16Gi of 16Gi needed")
    expect(found.filter(has_text="m1.xlarge").first).to_contain_text("Waste 0% CPU, 50% memory")
    dialog.get_by_label("Maximum waste").fill("20%")
    expect(found.filter(has_text="m1.xlarge")).to_have_count(0)
    expect(found.filter(has_text="u1.xlarge")).to_have_count(1)
    assert list_violations(page) == []
    dialog.get_by_label("Minimum memory").fill("8Gi")
    expect(dialog.get_by_text("No instance type matches")).to_have_count(0)
    expect(found.first).to_contain_text("8Gi of 8Gi needed")


@pytest.mark.parametrize(
    ("label", "value", "message"),
    [
        ("Minimum vCPUs", "many", "Enter a whole number above 0"),
        ("Minimum memory", "4Gx", "Enter an amount such as 4Gi"),
        ("Minimum vCPUs", "5000", "No instance type matches"),
        ("Maximum waste", "101%", "Enter a percentage from 0% to 100%"),
        ("Like", "aws:m5.larg", "did you mean aws:m5.large"),
    ],
)
def test_recommendation_reports_requirements_that_are_invalid_or_not_met(
    signed_in_page: Page, label: str, value: str, message: str
) -> None:
    page = signed_in_page
    page.goto("/console/create")
    page.get_by_role("button", name="Recommend…").click()
    page.get_by_role("dialog").get_by_label(label).fill(value)
    expect(page.get_by_role("dialog").get_by_text(message)).to_be_visible()


def test_matrix_shows_each_pair_with_numbered_reasons(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes")
    page.get_by_role("link", name="Compatibility matrix").click()
    expect(page.get_by_role("heading", name="Compatibility matrix")).to_be_visible()
    page.get_by_label("Series").select_option("u1")
    page.get_by_label("Guest OS").select_option("windows")
    table = page.get_by_role("region", name="Compatibility matrix")
    expect(table.get_by_role("row", name="u1.2xmedium").get_by_text("yes").first).to_be_visible()
    refused = table.get_by_role("row", name="u1.micro").get_by_title("preference requires 2 vCPU").first
    expect(refused).to_contain_text("no")
    expect(page.get_by_role("region", name="Reasons")).to_contain_text(
        "insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU"
    )
    expect(page.get_by_text("pairs can be used together")).to_be_visible()
    page.get_by_role("searchbox").fill("no such type")
    expect(page.get_by_text("No pair matches")).to_be_visible()
