"""Serial console, screen and uploads with a QEMU guest, in a browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import VMS, build_vm, create

BOOT = 600_000  # milliseconds; emulated guests boot slowly


@pytest.fixture
def guest_page(open_page: Callable[..., Page], qemu_server: System) -> Page:
    """A page that is signed in as the administrator of the server with QEMU guests."""
    return open_page(qemu_server, token=qemu_server.config["token"])


@pytest.fixture(scope="module", autouse=True)
def guest(qemu_server: System) -> None:
    """A VM that boots the demo image."""
    create(qemu_server, VMS, build_vm("typed"))


def test_serial_console_sends_input_and_shows_output(guest_page: Page) -> None:
    guest_page.goto("/console/vms/default/typed?tab=console")
    terminal = guest_page.locator(".xterm-rows")
    expect(guest_page.get_by_text("Connected.")).to_be_visible(timeout=BOOT)
    guest_page.keyboard.press("Enter")
    expect(terminal).to_contain_text("demo#", timeout=BOOT)
    guest_page.keyboard.type("echo sum is $((40 + 2))\n", delay=50)
    expect(terminal).to_contain_text("sum is 42")
    guest_page.keyboard.type("echo '<b>text</b>'\n", delay=50)
    expect(terminal).to_contain_text(re.compile("<b>text</b>.*<b>text</b>"))
    assert terminal.locator("b").count() == 0
    guest_page.keyboard.press("Control+]")
    expect(guest_page.get_by_role("button", name="Reconnect")).to_be_focused()


def test_screen_tab_connects_to_the_vnc_display(guest_page: Page) -> None:
    guest_page.goto("/console/vms/default/typed?tab=screen")
    expect(guest_page.get_by_text("Connected.")).to_be_visible(timeout=BOOT)
    expect(guest_page.locator(".screen canvas")).to_be_visible()
    expect(guest_page.get_by_role("button", name="Send Ctrl+Alt+Del")).to_be_enabled()


def test_cancelled_upload_removes_the_data_volume(guest_page: Page, qemu_server: System, tmp_path: Path) -> None:
    page = guest_page
    image = tmp_path / "half.img"
    image.write_bytes(b"disk" * 2**18)
    page.route("**/v1beta1/upload", lambda _: None)  # the upload never finishes
    page.goto("/console/create")
    page.get_by_label("Boot from").select_option("upload")
    page.get_by_label("Disk image").set_input_files(image)
    with page.expect_request("**/v1beta1/upload"):
        page.get_by_role("button", name="Upload").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_text("The upload was cancelled.")).to_be_visible()
    volume = VMS.replace("kubevirt.io/v1", "cdi.kubevirt.io/v1beta1").replace("virtualmachines", "datavolumes/half")
    wait_until(lambda: qemu_server.request("GET", volume)[0] == 404, "the DataVolume is not deleted")


def test_uploaded_image_is_used_as_the_disk_of_a_vm(guest_page: Page, tmp_path: Path) -> None:
    page = guest_page
    image = tmp_path / "small disk.img"
    image.write_bytes(b"disk" * 2**18)
    page.goto("/console/create")
    page.get_by_label("Boot from").select_option("upload")
    page.get_by_label("Disk image").set_input_files(image)
    expect(page.get_by_label("Name of the new DataVolume")).to_have_value("small-disk")
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Uploaded to the DataVolume small-disk")).to_be_visible()
    page.get_by_role("tab", name="YAML to apply").click()
    expect(page.get_by_role("region", name="YAML to apply")).to_contain_text("name: small-disk")
