"""The dialog that creates instance types and preferences from existing ones, in a browser."""

from playwright.sync_api import Locator, Page, expect
from tests.support.axe import list_violations
from tests.support.commands import call_virtctl
from tests.support.upprocess import System
from tests.support.webobjects import INSTANCETYPES, PREFERENCES

from virtshape.api.model import JsonObject


def open_dialog(page: Page, path: str, name: str) -> Locator:
    """Open the dialog on the page of an object, enter the name of the new object, and return the dialog."""
    page.goto(f"/console/{path}")
    page.get_by_role("button", name="Customize").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    return dialog


def customize(source: str, name: str, *flags: str) -> JsonObject:
    """Return the object that `virtctl customize` prints for an object of the catalog."""
    printed = call_virtctl("customize", source, "--catalog", "--name", name, *flags, "-o", "json")
    tree: JsonObject = printed.tree
    return tree


def test_customize_dialog_creates_the_same_object_as_virtctl(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "instancetypes/cx1.large1gi", "cx1.six")
    dialog.get_by_label("vCPUs", exact=True).fill("6")
    dialog.get_by_label("Memory", exact=True).fill("12Gi")
    expect(dialog.get_by_role("row").filter(has_text="spec.cpu.maxSockets")).to_contain_text("6")
    dialog.get_by_role("button", name="Create instance type").click()
    expect(page.get_by_role("heading", name="cx1.six")).to_be_visible()
    wanted = customize("cx1.large1gi", "cx1.six", "--vcpus", "6", "--memory", "12Gi")
    _, created = server.request("GET", f"{INSTANCETYPES}/cx1.six")
    assert created["spec"] == wanted["spec"]
    assert created["metadata"].get("labels") == wanted["metadata"].get("labels")


def test_customize_dialog_shows_field_errors_while_typing(signed_in_page: Page) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "instancetypes/u1.small", "u1.typed")
    dialog.get_by_label("Memory", exact=True).fill("4 gigabytes")
    expect(dialog.get_by_text("expected a quantity such as 4Gi")).to_be_visible()
    expect(dialog.get_by_label("Memory", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_role("button", name="Create instance type")).to_be_disabled()
    dialog.get_by_label("Memory", exact=True).fill("")
    dialog.get_by_label("vCPUs", exact=True).fill("two")
    expect(dialog.get_by_text("Enter a whole number above 0")).to_be_visible()
    dialog.get_by_label("vCPUs", exact=True).fill("2")
    expect(dialog.get_by_role("button", name="Create instance type")).to_be_enabled()
    assert list_violations(page) == []


def test_customize_dialog_checks_the_sizing_policy_while_typing(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "instancetypes/n1.custom", "n1.odd")
    dialog.get_by_label("vCPUs", exact=True).fill("5")
    expect(dialog.get_by_text("the nearest allowed values are 4 and 6")).to_be_visible()
    expect(dialog.get_by_label("vCPUs", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_role("button", name="Create instance type")).to_be_disabled()
    dialog.get_by_label("vCPUs", exact=True).fill("4")
    dialog.get_by_label("Memory", exact=True).fill("100Gi")
    expect(dialog.get_by_text("the nearest allowed value is 16Gi")).to_be_visible()
    dialog.get_by_label("vCPUs", exact=True).fill("")
    dialog.get_by_label("Memory", exact=True).fill("16Gi")
    expect(dialog.get_by_role("row").filter(has_text="spec.cpu.limits.max")).to_contain_text("16")
    dialog.get_by_role("button", name="Create instance type").click()
    expect(page.get_by_role("heading", name="n1.odd")).to_be_visible()
    wanted = customize("n1.custom", "n1.odd", "--memory", "16Gi")
    _, created = server.request("GET", f"{INSTANCETYPES.replace('v1beta1', 'v1beta2')}/n1.odd")
    assert created["spec"] == wanted["spec"]


def test_dialog_and_virtctl_create_the_same_instance_type_without_sizes(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "instancetypes/cx1.large1gi", "cx1.flexible")
    for label in ("vCPUs", "Memory"):
        dialog.get_by_label(f"Leave open: {label}").check()
        expect(dialog.get_by_label(label, exact=True)).to_be_disabled()
    expect(dialog.get_by_role("row").filter(has_text="spec.memory.guest")).to_contain_text("not set")
    dialog.get_by_role("button", name="Create instance type").click()
    expect(page.get_by_role("heading", name="cx1.flexible")).to_be_visible()
    expect(page.get_by_text("Memory set by the VM")).to_be_visible()
    wanted = customize("cx1.large1gi", "cx1.flexible", "--vcpus", "open", "--memory", "open")
    path = INSTANCETYPES.replace("v1beta1", "v1beta2")
    _, created = server.request("GET", f"{path}/cx1.flexible")
    assert created["spec"] == wanted["spec"]


def test_dialog_and_virtctl_create_the_same_preference(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "preferences/windows.11", "windows.ours")
    dialog.get_by_label("CPU topology").select_option("sockets")
    dialog.get_by_label("Firmware").select_option("efi")
    dialog.get_by_label("Disk bus").select_option("virtio")
    dialog.get_by_label("CD-ROM bus").select_option("sata")
    dialog.get_by_label("Interface model").select_option("Not set")
    dialog.get_by_label("Machine type").fill("q35")
    dialog.get_by_label("Time zone").fill("Europe/Oslo")
    dialog.get_by_label("Storage class").fill("fast")
    assert list_violations(page) == []
    dialog.get_by_role("button", name="Create preference").click()
    expect(page.get_by_role("heading", name="windows.ours")).to_be_visible()
    flags = ["--cpu-topology=sockets", "--firmware=efi", "--disk-bus=virtio", "--cdrom-bus=sata", "--interface-model="]
    flags += ["--machine-type=q35", "--timezone=Europe/Oslo", "--volume-storage-class=fast"]
    wanted = customize("windows.11", "windows.ours", *flags)
    _, created = server.request("GET", f"{PREFERENCES}/windows.ours")
    assert created["spec"] == wanted["spec"]


def test_requirements_of_a_preference_are_customized(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    dialog = open_dialog(page, "preferences/fedora", "fedora.large")
    dialog.get_by_label("vCPUs").fill("4")
    dialog.get_by_label("Memory").fill("")
    dialog.get_by_role("button", name="Create preference").click()
    expect(page.get_by_role("heading", name="fedora.large")).to_be_visible()
    _, created = server.request("GET", f"{PREFERENCES}/fedora.large")
    assert created["spec"]["requirements"] == {"architecture": "amd64", "cpu": {"guest": 4}}
