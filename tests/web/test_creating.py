"""The page that creates VMs, in a browser."""

import os
import subprocess

import yaml
from playwright.sync_api import Locator, Page, expect
from tests.support.upprocess import COMMAND, System, wait_until
from tests.support.webobjects import CLAIMS, VMS, build_claim, build_vm, create

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
    expect(name).to_have_accessible_description("A VM with this name exists already.")
    name.fill("Not_A_Name")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=name)).to_contain_text("a lowercase RFC 1123 subdomain")
    name.fill("fine")
    expect(name).to_have_attribute("aria-invalid", "false")


def test_too_small_instance_type_shows_the_reason(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "small", "?instancetype=u1.nano&preference=windows.11")
    picker = page.get_by_role("combobox", name="Instance type")
    expect(picker).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=picker)).to_contain_text("preference requires 4Gi")
    picker.click()
    expect(page.get_by_role("option", name="u1.nano")).to_contain_text("insufficient Memory resources")


def test_sliders_for_an_open_size_start_at_the_required_minimum(signed_in_page: Page) -> None:
    page = signed_in_page
    open_form(page, "open", "?instancetype=cx1.custom&preference=windows.11")
    memory = page.get_by_role("slider", name="Memory")
    expect(memory).to_have_attribute("aria-valuetext", "4Gi")
    memory.press("ArrowRight")
    expect(memory).to_have_attribute("aria-valuetext", "6Gi")
    page.get_by_role("slider", name="vCPUs").press("ArrowRight")
    expect(line(page, "guest: 6Gi")).to_have_class("yaml-line origin-user")


def test_instance_type_of_a_claim_is_shown_as_inferred(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, CLAIMS, build_claim("golden", instancetype="u1.large", preference="debian"))
    page.goto("/console/create")
    page.get_by_label("Boot from").select_option("claim")
    choose(page, "Claim", "golden")
    expect(page.get_by_text("inferred: u1.large")).to_be_visible()
    expect(page.get_by_text("inferred: debian")).to_be_visible()
    expect(line(page, "guest: 8Gi")).to_have_class("yaml-line origin-instancetype")


def test_viewer_cannot_create_vms(viewer_page: Page) -> None:
    open_form(viewer_page, "viewed")
    expect(viewer_page.get_by_text("You may not create virtual machines")).to_be_visible()
    expect(viewer_page.get_by_role("button", name="Create")).to_be_disabled()


def test_create_without_a_name_shows_an_error_at_the_name(signed_in_page: Page) -> None:
    open_form(signed_in_page)
    signed_in_page.get_by_role("button", name="Create").click()
    name = signed_in_page.get_by_label("Name", exact=True)
    expect(name).to_have_accessible_description("Enter a name.")


def copy(page: Page, button: str) -> str:
    """Click a copy button and return what is in the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


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
