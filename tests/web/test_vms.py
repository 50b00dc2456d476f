"""The list and the detail page of VMs, in a browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.support.demo import find_free_port
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create, patch

from virtshape.api.model import JsonObject

SCRIPT = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


def test_vm_list_is_updated_when_vms_are_created_stopped_or_deleted(signed_in_page: Page, server: System) -> None:
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


def test_vm_list_is_filtered_by_name(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    for name in ("finds-one", "finds-two"):
        create(server, VMS, build_vm(name, run_strategy="Halted"))
    page.goto("/console/vms")
    page.get_by_role("searchbox").fill("finds two")
    expect(page.get_by_role("row", name="finds-two")).to_be_visible()
    expect(page.get_by_role("row", name="finds-one")).to_have_count(0)
    page.get_by_role("searchbox").fill("no such name")
    expect(page.get_by_text("No virtual machine matches")).to_be_visible()


def test_vms_of_all_namespaces_are_listed_with_their_namespace(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    create(server, VMS.replace("/default/", "/elsewhere/"), build_vm("spread", run_strategy="Halted"))
    create(server, VMS, build_vm("spread", run_strategy="Halted"))
    page.goto("/console/vms")
    rows = page.get_by_role("row", name="spread")
    expect(rows).to_have_count(1)
    page.get_by_label("Namespace", exact=True).select_option("All namespaces")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Namespace").click()
    expect(rows).to_contain_text(["default", "elsewhere"])
    rows.last.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/console/vms/elsewhere/spread"))


def test_deletion_of_a_vm_requires_confirmation(signed_in_page: Page, server: System) -> None:
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


def test_vm_is_deleted_from_the_list(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, VMS, build_vm("unlisted", run_strategy="Halted"))
    page.goto("/console/vms")
    row = page.get_by_role("row", name="unlisted")
    row.get_by_role("button", name="Delete unlisted…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete unlisted").click()
    expect(row).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_vm_is_upgraded_from_the_list(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("spreads", memory="1Gi"))
    create(server, VMS, build_vm("listed", run_strategy="Halted", instancetype="spreads"))
    wait_until(
        lambda: "instancetypeRef" in server.request("GET", f"{VMS}/listed")[1].get("status", {}),
        "the VM has no revision",
    )
    patch(server, f"{INSTANCETYPES}/spreads", {"spec": {"memory": {"guest": "2Gi"}}})
    page.goto("/console/vms")
    row = page.get_by_role("row", name="listed").filter(has_text="spreads")
    row.get_by_role("button", name="Newer instance type for listed").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row", name="spec.domain.memory.guest")).to_contain_text("2Gi")
    dialog.get_by_role("button", name="Upgrade listed").click()
    expect(dialog).to_have_count(0)
    expect(row).to_contain_text("2Gi")
    expect(row.get_by_text("newer")).to_have_count(0)


def test_focus_moves_to_the_content_of_the_next_page(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/vms")
    page.get_by_role("navigation").get_by_role("link", name="Preferences").press("Enter")
    expect(page.get_by_role("heading", name="Preferences", exact=True)).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()


def test_upgrade_dialog_shows_and_applies_the_changes(signed_in_page: Page, server: System) -> None:
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


def test_vm_page_shows_events_conditions_and_yaml(signed_in_page: Page, server: System) -> None:
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


def test_viewer_sees_vms_but_cannot_change_them(viewer_page: Page, server: System) -> None:
    create(server, VMS, build_vm("viewed", run_strategy="Halted"))
    viewer_page.goto("/console/vms")
    row = viewer_page.get_by_role("row", name="viewed")
    expect(row).to_contain_text("Stopped")
    expect(row.get_by_role("button")).to_have_count(0)
    viewer_page.goto("/console/vms/default/viewed")
    expect(viewer_page.get_by_role("button", name="Start")).to_be_disabled()
    expect(viewer_page.get_by_role("button", name="Delete…")).to_be_disabled()


def test_script_in_annotations_of_a_vm_is_not_executed(signed_in_page: Page, server: System) -> None:
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


def test_vm_list_reconnects_after_a_server_restart(open_page: Callable[..., Page], tmp_path: Path) -> None:
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


EXPIRED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410, "metadata": {}}


@pytest.mark.parametrize(
    ("status", "body"),
    [(410, EXPIRED), (200, {"type": "ERROR", "object": EXPIRED})],
    ids=["as the response", "as an event"],
)
def test_vm_list_is_reloaded_when_its_watch_expires(
    signed_in_page: Page, server: System, status: int, body: JsonObject
) -> None:
    page = signed_in_page
    lists: list[str] = []
    page.on("request", lambda request: lists.append(request.url) if "/virtualmachines?limit=" in request.url else None)
    watches = re.compile(r"/virtualmachines\?watch=1")
    page.route(watches, lambda route: route.fulfill(status=status, body=f"{json.dumps(body)}\n"), times=1)
    page.goto("/console/vms")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    create(server, VMS, build_vm(f"expired-{status}", run_strategy="Halted"))
    expect(page.get_by_role("row", name=f"expired-{status}")).to_be_visible()
    assert len(lists) == 2
