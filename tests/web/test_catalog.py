"""Instance types and preferences in a browser: filters, comparison, compatibility and usage."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.support.upprocess import System
from tests.support.webobjects import (
    INSTANCETYPES,
    PREFERENCES,
    VMS,
    build_instancetype,
    build_preference,
    build_vm,
    create,
    patch,
)

SCRIPT = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


def row(page: Page, name: str) -> Locator:
    """Return the row of the table whose link has this name."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def card(page: Page, name: str, section: Locator | None = None) -> Locator:
    """Return the card whose link has this name, in a section of the page or anywhere."""
    return (section or page).get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))


def test_instance_type_table_shows_sizes_and_features(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?q=cx1.")
    expect(row(page, "cx1.large1gi")).to_contain_text("Dedicated CPUs")
    expect(row(page, "cx1.large1gi")).to_contain_text("Hugepages 1Gi")
    two_squares = re.compile(r"(M[^M]+z){2}")
    expect(row(page, "cx1.large1gi").locator(".topology path")).to_have_attribute("d", two_squares)
    expect(row(page, "cx1.custom")).to_contain_text("open")


def test_instance_type_filters_are_stored_in_the_url(signed_in_page: Page) -> None:
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
    expect(page.get_by_role("row").nth(1)).to_contain_text("m1.8xlarge")
    expect(page.get_by_role("row").last).to_contain_text("m1.custom")
    page.reload()
    expect(page.get_by_role("row").nth(1)).to_contain_text("m1.8xlarge")


def test_cards_are_sorted_by_series_or_by_size(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?view=cards&scope=cluster")
    cards = page.get_by_role("main").get_by_role("listitem")
    expect(cards.first).to_contain_text("cx1.medium")
    page.get_by_label("Sort").select_option("Most memory first")
    expect(cards.first).to_contain_text("256Gi")
    expect(page.get_by_role("heading", name="cx1")).to_have_count(0)
    page.get_by_label("Sort").select_option("Fewest vCPUs first")
    expect(cards.first).to_contain_text("1 vCPU")
    page.goto("/console/preferences")
    page.get_by_label("Sort").select_option("Most memory first")
    expect(cards.first).to_contain_text("4Gi")


def test_instance_types_above_a_minimum_are_sorted_by_waste(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?vcpus=2&memory=4Gi&dedicated=no&scope=cluster")
    expect(page.get_by_role("row").nth(1)).to_contain_text("u1.2xmedium")
    expect(page.get_by_role("row").nth(1)).to_contain_text("0% CPU, 0% memory")
    expect(row(page, "u1.xlarge")).to_contain_text("50% CPU, 75% memory")
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("button", name="Waste")).to_have_count(0)


def test_new_instance_type_appears_without_reload(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    page.goto("/console/instancetypes?view=cards&scope=namespace")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    create(server, INSTANCETYPES, build_instancetype("appearing.small", vcpus=3, memory="5Gi"))
    expect(card(page, "appearing.small")).to_contain_text("3 vCPUs")
    expect(card(page, "appearing.small")).to_contain_text("Namespace default")
    expect(page.get_by_role("heading", name="appearing")).to_be_visible()


def test_retired_instance_type_is_marked_and_names_its_replacement(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    outdated = {"virtshape.io/lifecycle": "retired"}
    replaced = {"virtshape.io/replacement": "current.small"}
    create(server, INSTANCETYPES, build_instancetype("outdated.small", labels=outdated, annotations=replaced))
    page.goto("/console/instancetypes?q=outdated")
    expect(row(page, "default/outdated.small")).to_contain_text("retired")
    page.get_by_role("link", name="default/outdated.small", exact=True).click()
    message = "outdated.small is retired: new VMs cannot use it; use current.small instead."
    expect(page.get_by_text(message)).to_be_visible()
    page.goto("/console/create")
    page.get_by_role("combobox", name="Instance type").fill("outdated")
    expect(page.get_by_role("option", name="outdated.small")).to_contain_text("retired: new VMs cannot use it")


def test_preferences_are_grouped_by_guest_os_with_icons(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/preferences")
    linux = card(page, "fedora", page.get_by_role("region", name="Linux"))
    windows = card(page, "windows.11", page.get_by_role("region", name="Windows"))
    pictures = []
    for shown in (linux, windows):
        expect(shown.locator("svg.os-icon")).to_be_visible()
        pictures.append(shown.locator("svg.os-icon path").get_attribute("d"))
    assert pictures[0] != pictures[1]


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


def test_instance_type_page_shows_changes_without_reload(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("changing.small", memory="1Gi"))
    page.goto("/console/instancetypes/default/changing.small")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    patch(server, f"{INSTANCETYPES}/changing.small", {"spec": {"memory": {"guest": "3Gi"}}})
    expect(page.get_by_text("3Gi", exact=True)).to_be_visible()
    server.request("DELETE", f"{INSTANCETYPES}/changing.small")
    expect(page.get_by_role("heading", name="There is no instance type default/changing.small")).to_be_visible()


def test_preference_page_shows_changes_without_reload(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, PREFERENCES, build_preference("changing", vcpus=2))
    page.goto("/console/preferences/default/changing")
    expect(page.get_by_text("at least 2")).to_be_visible()
    patch(server, f"{PREFERENCES}/changing", {"spec": {"requirements": {"cpu": {"guest": 5}}}})
    expect(page.get_by_text("at least 5")).to_be_visible()


def test_viewer_has_no_customize_button(viewer_page: Page) -> None:
    viewer_page.goto("/console/instancetypes/u1.small")
    expect(viewer_page.get_by_role("tab", name="Compatibility")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="Customize")).to_have_count(0)
    expect(viewer_page.get_by_role("link", name="Create a VM")).to_have_count(0)


def test_script_in_instance_type_annotations_is_not_executed(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    texts = {"instancetype.kubevirt.io/displayName": SCRIPT, "instancetype.kubevirt.io/description": SCRIPT}
    create(server, INSTANCETYPES, build_instancetype("script.small", annotations=texts))
    page.goto("/console/instancetypes?view=cards&series=script")
    expect(page.get_by_text("onerror").first).to_be_visible()
    page.goto("/console/instancetypes/default/script.small")
    expect(page.get_by_text("onerror").first).to_be_visible()
    expect(page).to_have_title("script.small · virtshape")
