"""Instance types and preferences in a browser: filters, comparison, compatibility, usage and customization."""

import re
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.support.axe import list_violations
from tests.support.commands import call_virtctl
from tests.support.upprocess import System
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create

SCRIPT = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
PAGES = {
    "/console/instancetypes": "tbody tr",
    "/console/instancetypes?view=cards&compare=u1.small,u1.large": ".shape-card",
    "/console/instancetypes?preference=windows.11": ".cell-reason",
    "/console/instancetypes/rt1.large": ".trait",
    "/console/instancetypes/rt1.large?tab=yaml": ".yaml-line",
    "/console/preferences": ".shape-card",
    "/console/preferences/windows.11?tab=compatibility": ".compatibility-refused",
    "/console/compare/instancetypes?names=u1.large,cx1.large,rt1.large,cx1.custom": ".differs",
    "/console/compare/preferences?names=fedora,windows.11": ".differs",
}


def row(page: Page, name: str) -> Locator:
    """Return the row of the table whose link has this name."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))


def test_instance_type_table_shows_sizes_and_features(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?q=cx1.")
    expect(row(page, "cx1.large1gi")).to_contain_text("Dedicated CPUs")
    expect(row(page, "cx1.large1gi")).to_contain_text("Hugepages 1Gi")
    two_squares = re.compile(r"(M[^M]+z){2}")
    expect(row(page, "cx1.large1gi").locator(".topology path")).to_have_attribute("d", two_squares)
    expect(row(page, "cx1.custom")).to_contain_text("open")


def test_instance_type_filters_are_kept_in_the_url(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes")
    page.get_by_label("Series").select_option("u1")
    page.get_by_label("Minimum vCPUs").select_option("4")
    page.get_by_label("Minimum memory").select_option("32Gi")
    expect(row(page, "u1.2xlarge")).to_be_visible()
    expect(row(page, "u1.xlarge")).to_have_count(0)
    expect(page.get_by_text("3 of ")).to_be_visible()
    page.reload()
    expect(page.get_by_text("3 of ")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("CPUs", exact=True).select_option("yes")
    expect(row(page, "cx1.large")).to_be_visible()
    page.get_by_role("searchbox").fill("real time")
    expect(row(page, "rt1.large")).to_be_visible()
    expect(row(page, "cx1.large")).to_have_count(0)
    page.get_by_role("searchbox").fill("no such name")
    expect(page.get_by_text("No instance type matches")).to_be_visible()


def test_instance_type_table_sorts_by_memory(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?series=m1&scope=cluster")
    memory = page.get_by_role("button", name="Memory")
    memory.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("m1.large")
    memory.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("m1.custom")


def test_new_instance_type_appears_without_reload(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?view=cards&scope=namespace")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    create(server, INSTANCETYPES, build_instancetype("appearing.small", vcpus=3, memory="5Gi"))
    expect(card(page, "appearing.small")).to_contain_text("3 vCPUs")
    expect(card(page, "appearing.small")).to_contain_text("Namespace default")
    expect(page.get_by_role("heading", name="appearing")).to_be_visible()


def test_preferences_are_filtered_by_guest_os_and_architecture(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/preferences")
    page.get_by_label("Guest OS").select_option("linux")
    page.get_by_label("Architecture").select_option("arm64")
    expect(card(page, "fedora.arm64")).to_contain_text("2Gi")
    expect(card(page, "fedora")).to_have_count(0)
    expect(card(page, "windows.11")).to_have_count(0)


def test_up_to_four_instance_types_are_compared_side_by_side(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?series=cx1")
    for name in ("cx1.medium", "cx1.large", "cx1.large1gi", "cx1.xlarge"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    expect(page.get_by_label("Compare cx1.custom")).to_be_disabled()
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("columnheader")).to_have_count(5)
    pages = page.get_by_role("row").filter(has_text="memory.hugepages.pageSize")
    expect(pages.get_by_role("cell")).to_have_text(["2Mi", "2Mi", "1Gi", "2Mi"])
    dedicated = page.get_by_role("row").filter(has_text="cpu.dedicatedCPUPlacement")
    expect(dedicated).to_have_count(0)
    page.get_by_label("Only fields that differ").uncheck()
    expect(dedicated.get_by_role("cell")).to_have_text(["true"] * 4)


def test_incompatible_instance_type_shows_the_reason_from_the_server(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?series=u1")
    page.get_by_label("Compatible with preference").select_option("windows.11")
    reason = "insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU"
    expect(row(page, "u1.medium")).to_contain_text(reason)
    expect(row(page, "u1.large")).to_contain_text("Yes")
    page.get_by_label("incompatible").check()
    expect(row(page, "u1.medium")).to_have_count(0)
    expect(row(page, "u1.large")).to_be_visible()


def test_compatibility_tab_lists_incompatible_objects_with_the_reason(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/preferences/windows.11?tab=compatibility")
    refused = page.locator(".compatibility-refused").filter(has=page.get_by_role("link", name="u1.medium", exact=True))
    expect(refused).to_contain_text("insufficient CPU resources of 1 vCPU")
    refused.get_by_role("link", name="u1.medium", exact=True).click()
    page.get_by_role("tab", name="Compatibility").click()
    refused = page.locator(".compatibility-refused").filter(has=page.get_by_role("link", name="windows.11", exact=True))
    expect(refused).to_contain_text("preference requires 2 vCPU")


def test_instance_type_page_lists_the_vms_that_use_it(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("used.small"))
    create(server, VMS, build_vm("uses-it", run_strategy="Halted", instancetype="used.small"))
    create(server, VMS, build_vm("uses-none", run_strategy="Halted"))
    page.goto("/console/instancetypes/default/used.small?tab=vms")
    expect(row(page, "uses-it")).to_contain_text("Stopped")
    expect(row(page, "uses-it")).to_contain_text("current")
    expect(row(page, "uses-none")).to_have_count(0)


def test_customize_dialog_creates_the_same_object_as_virtctl(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes/cx1.large1gi")
    page.get_by_role("button", name="Customize").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("cx1.six")
    dialog.get_by_label("vCPUs", exact=True).fill("6")
    dialog.get_by_label("Memory").fill("12Gi")
    expect(dialog.get_by_role("row").filter(has_text="spec.cpu.maxSockets")).to_contain_text("6")
    dialog.get_by_role("button", name="Create instance type").click()
    expect(page.get_by_role("heading", name="cx1.six")).to_be_visible()
    size = ("--vcpus", "6", "--memory", "12Gi")
    printed = call_virtctl("customize", "cx1.large1gi", "--catalog", "--name", "cx1.six", *size, "-o", "json")
    wanted = printed.tree
    _, created = server.request("GET", f"{INSTANCETYPES}/cx1.six")
    assert created["spec"] == wanted["spec"]
    assert created["metadata"].get("labels") == wanted["metadata"].get("labels")


def test_customize_dialog_shows_field_errors_while_typing(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes/u1.small")
    page.get_by_role("button", name="Customize").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Memory").fill("4 gigabytes")
    expect(dialog.get_by_text("is not a quantity")).to_be_visible()
    expect(dialog.get_by_label("Memory")).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_role("button", name="Create instance type")).to_be_disabled()
    dialog.get_by_label("Memory").fill("")
    dialog.get_by_label("vCPUs", exact=True).fill("two")
    expect(dialog.get_by_text("Enter a whole number above 0")).to_be_visible()
    dialog.get_by_label("vCPUs", exact=True).fill("2")
    expect(dialog.get_by_role("button", name="Create instance type")).to_be_enabled()
    assert list_violations(page) == []


def test_preference_is_created_with_customized_requirements(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    page.goto("/console/preferences/fedora")
    page.get_by_role("button", name="Customize").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("fedora.large")
    dialog.get_by_label("Required vCPUs").fill("4")
    dialog.get_by_label("Preferred CPU topology").select_option("cores")
    dialog.get_by_role("button", name="Create preference").click()
    expect(page.get_by_role("heading", name="fedora.large")).to_be_visible()
    path = INSTANCETYPES.replace("instancetypes", "preferences")
    _, created = server.request("GET", f"{path}/fedora.large")
    assert created["spec"]["requirements"]["cpu"] == {"guest": 4}
    assert created["spec"]["cpu"] == {"preferredCPUTopology": "cores"}


def test_viewer_has_no_customize_button(viewer_page: Page) -> None:
    viewer_page.goto("/console/instancetypes/u1.small")
    expect(viewer_page.get_by_role("tab", name="Compatibility")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="Customize")).to_have_count(0)
    expect(viewer_page.get_by_role("link", name="Create a VM with it")).to_have_count(0)


def test_script_in_instance_type_annotations_is_not_executed(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    texts = {"instancetype.kubevirt.io/displayName": SCRIPT, "instancetype.kubevirt.io/description": SCRIPT}
    create(server, INSTANCETYPES, build_instancetype("script.small", annotations=texts))
    page.goto("/console/instancetypes?view=cards&series=script")
    expect(page.get_by_text("onerror").first).to_be_visible()
    page.goto("/console/instancetypes/default/script.small")
    expect(page.get_by_text("onerror").first).to_be_visible()
    assert page.title() == "script.small · virtshape"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_catalog_page_has_no_accessibility_violations(
    open_page: Callable[..., Page], server: System, path: str, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(server, token=server.config["token"], color_scheme=scheme)
    page.goto(path)
    expect(page.locator(PAGES[path]).first).to_be_visible()
    assert list_violations(page) == []
