"""The list and the detail page of VMs, in a browser."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Page, expect
from tests.support.demo import find_free_port
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create, patch

from virtshape.api.model import JsonObject
from virtshape.engine.gitops import remove_server_fields

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
CONFIGURATION = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
OTHER_UID = "11111111-2222-3333-4444-555555555555"
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


def wait_for_revision(server: System, name: str) -> None:
    """Wait until the server has recorded the revision of the VM's instance type."""
    wait_until(
        lambda: "instancetypeRef" in server.request("GET", f"{VMS}/{name}")[1].get("status", {}),
        "the VM has no revision",
    )


def test_vm_is_upgraded_from_the_list(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("spreads", memory="1Gi"))
    create(server, VMS, build_vm("listed", run_strategy="Halted", instancetype="spreads"))
    wait_for_revision(server, "listed")
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


@pytest.fixture(params=["Spec", "Status"])
def revision_place(request: pytest.FixtureRequest, server: System) -> Iterator[str]:
    """The place where the server records revisions during the test."""
    place: str = request.param
    patch(server, CONFIGURATION, {"spec": {"configuration": {"instancetype": {"revisionName": place}}}})
    yield place.lower()
    patch(server, CONFIGURATION, {"spec": {"configuration": {"instancetype": {"revisionName": None}}}})


def test_upgrade_dialog_shows_and_applies_the_changes(
    signed_in_page: Page, server: System, revision_place: str
) -> None:
    page = signed_in_page
    size, name = f"grows-{revision_place}", f"drifted-{revision_place}"
    create(server, INSTANCETYPES, build_instancetype(size, memory="1Gi"))
    create(server, VMS, build_vm(name, run_strategy="Halted", instancetype=size))
    page.goto(f"/console/vms/default/{name}")
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("1Gi")
    wait_for_revision(server, name)  # the page also shows the size before
    patch(server, f"{INSTANCETYPES}/{size}", {"spec": {"memory": {"guest": "2Gi"}}})
    page.reload()
    expect(page.get_by_text("newer version available")).to_be_visible()
    page.get_by_role("button", name="Upgrade…").click()
    change = page.get_by_role("dialog").get_by_role("row", name="spec.domain.memory.guest")
    expect(change).to_contain_text("1Gi")
    expect(change).to_contain_text("2Gi")
    page.get_by_role("dialog").get_by_role("button", name=f"Upgrade {name}").click()
    expect(page.get_by_role("region", name="Size and shape")).to_contain_text("2Gi")
    expect(page.get_by_text("newer version available")).to_have_count(0)


def create_with_revision(server: System, name: str, revision: str) -> None:
    """Create an instance type, a shared revision of it with a given name, and a stopped VM that uses this revision."""
    create(server, INSTANCETYPES, build_instancetype(name))
    instancetype = server.request("GET", f"{INSTANCETYPES.replace('v1beta1', 'v1beta2')}/{name}")[1]
    labels = {"virtshape.io/shared-revision": "true", "instancetype.kubevirt.io/object-version": "v1beta2"}
    tree = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": revision.format(name=name, uid=instancetype["metadata"]["uid"]), "labels": labels},
        "data": instancetype,
        "revision": 0,
    }
    stored = create(server, REVISIONS, tree)["metadata"]["name"]
    vm = build_vm(name, run_strategy="Halted", instancetype=name)
    vm["spec"]["instancetype"]["revisionName"] = stored
    create(server, VMS, vm)
    wait_for_revision(server, name)
    assert server.request("GET", f"{VMS}/{name}")[1]["spec"]["instancetype"]["revisionName"] == stored


@pytest.mark.parametrize(
    ("name", "revision", "version", "marks"),
    [
        ("second-copy", "{name}-{uid}-1-2", "current", 0),
        ("earlier-copy", "{name}-{uid}-7-2", "earlier", 1),
        ("foreign-copy", "vm-{name}-" + OTHER_UID + "-1", "unknown", 0),
    ],
    ids=["second copy", "second copy of another generation", "UID of another cluster"],
)
def test_vm_is_marked_newer_only_if_its_revision_is_of_another_generation(
    signed_in_page: Page, server: System, name: str, revision: str, version: str, marks: int
) -> None:
    page = signed_in_page
    create_with_revision(server, name, revision)
    page.goto(f"/console/instancetypes/default/{name}?tab=vms")
    expect(page.get_by_role("row", name=name)).to_contain_text(version)
    with page.expect_response(lambda response: "virtualmachineclusterpreferences" in response.url):
        page.goto(f"/console/vms/default/{name}")
    expect(page.get_by_role("region", name="Size and shape").get_by_role("link", name=name)).to_be_visible()
    expect(page.get_by_text("newer version available")).to_have_count(marks)
    expect(page.get_by_role("button", name="Upgrade…")).to_have_count(marks)


def test_vm_copied_for_gitops_has_no_fields_of_the_server_and_applies_without_a_difference(
    signed_in_page: Page, server: System
) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("in-git"))
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "argocd.argoproj.io/tracking-id": "vms:kubevirt.io/VirtualMachine:default/in-git",
        "example.com/notes": "first\n\n",
        "example.com/indented": "  first\nsecond",
    }
    labels = {"app": "web", "kustomize.toolkit.fluxcd.io/name": "vms"}
    create(server, VMS, build_vm("in-git", instancetype="in-git", annotations=annotations, labels=labels))
    path = f"{VMS}/in-git"
    wait_until(lambda: server.request("GET", path)[1].get("status", {}).get("ready"), "the VM is not ready")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/console/vms/default/in-git?tab=yaml")
    page.get_by_role("button", name="Copy for GitOps").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    manifest = yaml.safe_load(page.evaluate("navigator.clipboard.readText()"))
    live = server.request("GET", path)[1]
    assert "revisionName" in live["spec"]["instancetype"]
    assert "revisionName" not in manifest["spec"]["instancetype"]
    assert manifest == remove_server_fields(live)
    apply = f"{path}?fieldManager=gitops&force=true&dryRun=All"
    status, applied = server.request("PATCH", apply, manifest, **{"Content-Type": "application/apply-patch+yaml"})
    assert status == 200, applied
    for tree in (live, applied):
        del tree["metadata"]["managedFields"], tree["metadata"]["resourceVersion"]
    assert applied == live


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
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
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
