"""The page that creates VMs, in a browser."""

import os
import subprocess

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect
from tests.support.upprocess import COMMAND, System, wait_until
from tests.support.webobjects import (
    CLAIMS,
    DATA_SOURCES,
    INSTANCETYPES,
    VMS,
    build_claim,
    build_data_source,
    build_instancetype,
    build_vm,
    create,
)

IMAGE = "virtshape.local/demo"


def open_form(page: Page, name: str = "", query: str = "") -> None:
    """Open the page and enter the name and the demo image."""
    page.goto(f"/console/create{query}")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Image", exact=True).fill(IMAGE)


def choose(page: Page, label: str, text: str) -> None:
    """Choose an option in a combobox: type its text and press Enter."""
    picker = page.get_by_role("combobox", name=label)
    picker.click()
    picker.fill(text)
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(text)
    picker.press("Enter")


def line(page: Page, text: str) -> Locator:
    """Return the line with this text in the YAML of the resulting VM."""
    return page.get_by_role("region", name="The resulting VM").locator(".yaml-line", has_text=text)


def test_created_vm_starts_running(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    open_form(page, "created")
    choose(page, "Instance type", "u1.small")
    choose(page, "Preference", "fedora")
    page.get_by_label("User", exact=True).fill("me")
    page.get_by_label("SSH public keys").fill("ssh-ed25519 AAAA me@example")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="created")).to_be_visible()
    expect(page.get_by_role("region", name="Guest")).to_contain_text("Running")
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("2Gi")
    _, vm = server.request("GET", f"{VMS}/created")
    root, cloudinit = vm["spec"]["template"]["spec"]["volumes"]
    assert root["containerDisk"] == {"image": IMAGE}
    data = '#cloud-config\nuser: "me"\nssh_authorized_keys:\n- "ssh-ed25519 AAAA me@example"\n'
    assert cloudinit["cloudInitNoCloud"] == {"userData": data}


def test_each_field_of_the_previewed_vm_has_the_colour_of_its_origin(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "coloured", "?instancetype=u1.medium&preference=fedora")
    expect(line(page, "guest: 4Gi")).to_have_class("yaml-line origin-instancetype")
    expect(line(page, "secureBoot: true")).to_have_attribute("title", "from the preference fedora")
    expect(line(page, f"image: {IMAGE}")).to_have_class("yaml-line origin-user")
    expect(line(page, "type: q35")).to_have_class("yaml-line origin-default")


def test_errors_appear_at_their_field_while_typing(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, VMS, build_vm("taken", run_strategy="Halted"))
    open_form(page, "taken")
    name = page.get_by_label("Name", exact=True)
    expect(name).to_have_accessible_description("A VM with this name already exists.")
    name.fill("Not_A_Name")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=name)).to_contain_text("a lowercase RFC 1123 subdomain")
    name.fill("fine")
    expect(name).to_have_attribute("aria-invalid", "false")


def test_reason_is_shown_for_an_instance_type_that_is_too_small(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "small", "?instancetype=u1.nano&preference=windows.11")
    picker = page.get_by_role("combobox", name="Instance type")
    expect(picker).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=picker)).to_contain_text("preference requires 4Gi")
    picker.click()
    expect(page.get_by_role("option", name="u1.nano")).to_contain_text("insufficient Memory resources")


def test_sliders_for_a_custom_size_start_at_the_required_minimum(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "open", "?instancetype=cx1.custom&preference=windows.11")
    memory = page.get_by_role("slider", name="Memory")
    expect(memory).to_have_attribute("aria-valuetext", "4Gi")
    memory.press("ArrowRight")
    expect(memory).to_have_attribute("aria-valuetext", "4.5Gi")
    page.get_by_role("slider", name="vCPUs").press("ArrowRight")
    expect(line(page, "guest: 4608Mi")).to_have_class("yaml-line origin-user")


def test_sliders_offer_the_sizes_that_the_instance_type_allows(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "limited", "?instancetype=n1.custom")
    vcpus, memory = page.get_by_role("slider", name="vCPUs"), page.get_by_role("slider", name="Memory")
    expect(vcpus).to_have_accessible_description("2 vCPU to 64 vCPU")
    expect(vcpus).to_have_attribute("aria-valuetext", "2 vCPU")
    expect(memory).to_have_accessible_description("2Gi to 8Gi")
    vcpus.press("ArrowRight")
    expect(vcpus).to_have_attribute("aria-valuetext", "4 vCPU")
    expect(memory).to_have_attribute("aria-valuetext", "4Gi")
    expect(memory).to_have_accessible_description("4Gi to 16Gi")
    memory.press("End")
    expect(line(page, "guest: 16Gi")).to_have_class("yaml-line origin-user")


@pytest.fixture(scope="module")
def unlimited(server: System) -> str:
    """The kind and name of an instance type without a size and without limits; VMs set the size."""
    tree = build_instancetype("unlimited") | {"apiVersion": "instancetype.kubevirt.io/v1beta2", "spec": {}}
    create(server, INSTANCETYPES.replace("v1beta1", "v1beta2"), tree)
    return "VirtualMachineInstancetype/unlimited"


def test_maximum_of_the_sliders_is_the_size_of_the_largest_node(signed_in_page: Page, unlimited: str) -> None:
    page = signed_in_page
    nodes = [{"metadata": {"name": "a"}, "status": {"capacity": {"cpu": cpu, "memory": "20Gi"}}} for cpu in ("4", "8")]
    page.route("**/api/v1/nodes", lambda route: route.fulfill(json={"metadata": {}, "items": nodes}))
    open_form(page, "limited", f"?instancetype={unlimited}")
    vcpus, memory = page.get_by_role("slider", name="vCPUs"), page.get_by_role("slider", name="Memory")
    expect(vcpus).to_have_accessible_description("1 vCPU to 8 vCPU, limited by the largest node")
    vcpus.press("End")
    memory.press("End")
    expect(vcpus).to_have_attribute("aria-valuetext", "8 vCPU")
    expect(memory).to_have_attribute("aria-valuetext", "16Gi")


def test_sliders_have_a_default_range_for_users_who_may_not_read_nodes(viewer_page: Page, unlimited: str) -> None:
    open_form(viewer_page, "viewed", f"?instancetype={unlimited}")
    expect(viewer_page.get_by_role("slider", name="vCPUs")).to_have_accessible_description("1 vCPU to 64 vCPU")


def test_disk_is_cloned_from_a_data_source(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, CLAIMS, build_claim("image-disk"))
    create(server, DATA_SOURCES, build_data_source("image", claim="image-disk", instancetype="u1.small"))
    page.goto("/console/create")
    page.get_by_label("Name", exact=True).fill("cloned")
    page.get_by_label("Boot from").select_option("dataSource")
    choose(page, "DataSource", "default/image")
    page.get_by_label("Disk size").fill("2Gi")
    choose(page, "Preference", "fedora")
    expect(page.get_by_text("inferred: u1.small")).to_be_visible()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="cloned")).to_be_visible()
    expect(page.get_by_role("region", name="Guest")).to_contain_text("Running")
    expect(page.get_by_role("region", name="Volumes")).to_contain_text("cloned-rootdisk")
    expect(page.get_by_role("link", name="u1.small")).to_be_visible()
    _, claim = server.request("GET", f"{CLAIMS}/cloned-rootdisk")
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"


def focus(page: Page, control: Locator) -> None:
    """Press Tab until the control has the focus."""
    for _ in range(40):
        if control.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {control}")


def test_vm_is_created_with_the_keyboard_only(signed_in_page: Page) -> None:
    page, keyboard = signed_in_page, signed_in_page.keyboard
    page.goto("/console/vms")
    link = page.get_by_role("link", name="Create a VM")
    expect(link).to_be_visible()
    focus(page, link)
    keyboard.press("Enter")
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_visible()
    focus(page, name)
    keyboard.type("typed")
    focus(page, page.get_by_label("Image", exact=True))
    keyboard.press("Control+A")
    keyboard.type(IMAGE)
    for label, text in (("Instance type", "u1.small"), ("Preference", "fedora")):
        picker = page.get_by_role("combobox", name=label)
        focus(page, picker)
        keyboard.type(text)
        expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(text)
        keyboard.press("ArrowDown")
        keyboard.press("ArrowUp")
        keyboard.press("Enter")
        expect(picker).to_have_value(text)
    focus(page, page.get_by_role("button", name="Create"))
    keyboard.press("Enter")
    expect(page.get_by_role("region", name="Guest")).to_contain_text("Running")


def test_instance_type_of_a_claim_is_shown_as_inferred(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, CLAIMS, build_claim("golden", instancetype="u1.large", preference="debian"))
    page.goto("/console/create")
    page.get_by_label("Boot from").select_option("claim")
    choose(page, "Claim", "golden")
    expect(page.get_by_text("inferred: u1.large")).to_be_visible()
    expect(page.get_by_text("inferred: debian")).to_be_visible()
    expect(line(page, "guest: 8Gi")).to_have_class("yaml-line origin-instancetype")


def test_inferred_instance_type_without_a_size_has_sliders(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, CLAIMS, build_claim("flexible", instancetype="cx1.custom"))
    page.goto("/console/create")
    page.get_by_label("Boot from").select_option("claim")
    choose(page, "Claim", "flexible")
    choose(page, "Preference", "fedora")
    expect(page.get_by_text("inferred: cx1.custom")).to_be_visible()
    page.get_by_role("slider", name="vCPUs").press("ArrowRight")
    expect(page.get_by_role("slider", name="vCPUs")).to_have_attribute("aria-valuetext", "2 vCPU")
    expect(line(page, "sockets: 2")).to_have_class("yaml-line origin-user")


def test_viewer_cannot_create_vms(viewer_page: Page) -> None:
    open_form(viewer_page, "viewed")
    expect(viewer_page.get_by_text("You may not create virtual machines")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="Create")).to_be_disabled()


def test_form_without_a_name_shows_an_error_at_the_name_field(signed_in_page: Page) -> None:
    open_form(signed_in_page)
    signed_in_page.get_by_role("button", name="Create").click()
    name = signed_in_page.get_by_label("Name", exact=True)
    expect(name).to_have_accessible_description("Enter a name.")


def copy(page: Page, button: str) -> str:
    """Click a copy button and return the content of the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('not copied')")  # the message "Copied" may be that of an earlier copy
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text("Copied").first).to_be_visible()

    def read() -> str:
        text: str = page.evaluate("navigator.clipboard.readText()")
        return "" if text == "not copied" else text

    return wait_until(read, "nothing is copied")


def test_copied_commands_create_the_same_vm(signed_in_page: Page, server: System) -> None:
    open_form(signed_in_page, "copied", "?instancetype=cx1.custom")
    signed_in_page.get_by_label("User", exact=True).fill("it's me")
    signed_in_page.get_by_role("slider", name="vCPUs").press("ArrowRight")
    shown = yaml.safe_load(copy(signed_in_page, "Copy YAML"))
    kubectl, virtctl = copy(signed_in_page, "Copy kubectl"), copy(signed_in_page, "Copy virtctl")
    environment = {"KUBECONFIG": str(server.kubeconfig), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    for command in (kubectl, virtctl):
        done = subprocess.run(
            ["/bin/bash", "-ec", command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        _, created = server.request("GET", f"{VMS}/copied")
        template = created["spec"]["template"]["spec"]
        assert created["spec"]["instancetype"]["name"] == "cx1.custom"
        assert "preference" not in created["spec"]
        assert template["domain"]["cpu"]["guest"] == shown["spec"]["template"]["spec"]["domain"]["cpu"]["guest"] == 2
        assert template["volumes"][0] == shown["spec"]["template"]["spec"]["volumes"][0]
        user = yaml.safe_load(template["volumes"][1]["cloudInitNoCloud"]["userData"])
        assert user == {"user": "it's me"}
        server.request("DELETE", f"{VMS}/copied")
        wait_until(lambda: server.request("GET", f"{VMS}/copied")[0] == 404, "the VM is not deleted")
