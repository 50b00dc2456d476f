"""The list and the detail page of VMs, in a browser."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.support.demo import find_free_port
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create, patch

SCRIPT = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


def test_list_shows_vms_as_they_are_created_stopped_and_deleted(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    page.goto("/console/vms")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    create(server, VMS, build_vm("appears"))
    row = page.get_by_role("row", name="appears")
    expect(row).to_contain_text("Running")
    expect(row).to_contain_text("1 vCPU · 256Mi")
    row.get_by_role("button", name="Stop appears").click()
    expect(row).to_contain_text("Stopped")
    row.get_by_role("button", name="Start appears").click()
    expect(row).to_contain_text("Running")
    server.request("DELETE", f"{VMS}/appears")
    expect(row).to_have_count(0)


def test_list_finds_vms_by_name_and_status(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    for name in ("finds-one", "finds-two"):
        create(server, VMS, build_vm(name, run_strategy="Halted"))
    page.goto("/console/vms")
    page.get_by_role("searchbox").fill("finds two")
    expect(page.get_by_role("row", name="finds-two")).to_be_visible()
    expect(page.get_by_role("row", name="finds-one")).to_have_count(0)
    page.get_by_role("searchbox").fill("no such name")
    expect(page.get_by_text("No virtual machine matches")).to_be_visible()


def test_delete_asks_before_it_deletes(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, VMS, build_vm("deleted", run_strategy="Halted"))
    page.goto("/console/vms/default/deleted")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert server.request("GET", f"{VMS}/deleted")[0] == 200
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete deleted").click()
    expect(page.get_by_role("heading", name="Virtual machines", exact=True)).to_be_visible()
    expect(page.get_by_role("row", name="deleted")).to_have_count(0)


def test_upgrade_shows_what_changes_and_applies_it(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("grows", memory="1Gi"))
    create(server, VMS, build_vm("drifted", run_strategy="Halted", instancetype="grows"))
    page.goto("/console/vms/default/drifted")
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("1Gi")
    patch(server, f"{INSTANCETYPES}/grows", {"spec": {"memory": {"guest": "2Gi"}}})
    page.reload()
    expect(page.get_by_text("newer version available")).to_be_visible()
    page.get_by_role("button", name="Upgrade…").click()
    change = page.get_by_role("dialog").get_by_role("row", name="spec.domain.memory.guest")
    expect(change).to_contain_text("1Gi")
    expect(change).to_contain_text("2Gi")
    page.get_by_role("dialog").get_by_role("button", name="Upgrade drifted").click()
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("2Gi")
    expect(page.get_by_text("newer version available")).to_have_count(0)


def test_detail_shows_events_conditions_and_yaml(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, VMS, build_vm("detailed"))
    page.goto("/console/vms/default/detailed")
    expect(page.get_by_role("region", name="Conditions")).to_contain_text("Ready: True")
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("row", name="SuccessfulCreate")).to_be_visible()
    page.get_by_role("tab", name="Events").press("ArrowRight")
    expect(page.get_by_role("tab", name="YAML")).to_be_focused()
    expect(page.get_by_role("region", name="The virtual machine as YAML")).to_contain_text(
        "image: virtshape.local/demo"
    )


def test_viewer_sees_vms_and_cannot_change_them(viewer_page: Page, server: System) -> None:
    create(server, VMS, build_vm("viewed", run_strategy="Halted"))
    viewer_page.goto("/console/vms")
    row = viewer_page.get_by_role("row", name="viewed")
    expect(row).to_contain_text("Stopped")
    expect(row.get_by_role("button")).to_have_count(0)
    viewer_page.goto("/console/vms/default/viewed")
    expect(viewer_page.get_by_role("button", name="Start")).to_be_disabled()
    expect(viewer_page.get_by_role("button", name="Delete…")).to_be_disabled()


def test_script_in_annotations_and_descriptions_stays_text(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    annotations = {"note": SCRIPT, "instancetype.kubevirt.io/description": SCRIPT}
    create(server, INSTANCETYPES, build_instancetype("scripted", annotations=annotations))
    create(server, VMS, build_vm("scripted", run_strategy="Halted", annotations=annotations))
    page.goto("/console/vms/default/scripted?tab=yaml")
    expect(page.get_by_role("region", name="The virtual machine as YAML")).to_contain_text("<script>")
    page.goto("/console/create?instancetype=VirtualMachineInstancetype/scripted")
    expect(page.get_by_text("<img src=x")).to_be_visible()
    assert page.locator("img, main script").count() == 0
    assert "hacked" not in page.title()


def test_list_continues_after_the_server_restarts(open_page: Callable[..., Page], tmp_path: Path) -> None:
    listen = f"127.0.0.1:{find_free_port()}"
    with System(tmp_path / "data", "--launcher", "simulate", listen=listen) as first:
        page = open_page(first, token=first.config["token"])
        create(first, VMS, build_vm("before"))
        page.goto("/console/vms")
        expect(page.get_by_role("row", name="before")).to_be_visible()
        first.stop()
        expect(page.get_by_text("Reconnecting…")).to_be_visible()
    with System(tmp_path / "data", "--launcher", "simulate", listen=listen) as second:
        expect(page.get_by_text("Live", exact=True)).to_be_visible(timeout=60_000)
        create(second, VMS, build_vm("after"))
        expect(page.get_by_role("row", name="after")).to_be_visible()
        expect(page.get_by_role("row", name="before")).to_be_visible()


def test_list_is_loaded_again_if_the_server_no_longer_has_the_changes(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    listen = f"127.0.0.1:{find_free_port()}"
    options = ("--launcher", "simulate", "--history-seconds", "0", "--history-revisions", "0")
    with System(tmp_path / "data", *options, listen=listen) as first:
        page = open_page(first, token=first.config["token"])
        for name in ("kept", "removed"):
            create(first, VMS, build_vm(name, run_strategy="Halted"))
        page.goto("/console/vms")
        expect(page.get_by_role("row", name="removed")).to_be_visible()
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    with System(tmp_path / "data", *options) as elsewhere:
        elsewhere.request("DELETE", f"{VMS}/removed")
        wait_until(lambda: elsewhere.request("GET", f"{VMS}/removed")[0] == 404, "the VM is not deleted")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    with System(tmp_path / "data", *options, listen=listen):
        expect(page.get_by_role("row", name="removed")).to_have_count(0, timeout=60_000)
        expect(page.get_by_role("row", name="kept")).to_be_visible()
    assert any("/virtualmachines?limit=" in url for url in requests), "the list was not loaded again"
