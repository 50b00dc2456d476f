"""Import of a dump in a browser: the plan, the writes with the user's permissions, and the results."""

import json
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Locator, Page, expect
from tests.support.axe import list_violations
from tests.support.upprocess import System, wait_until
from tests.support.webobjects import INSTANCETYPES, VMS, build_instancetype, build_vm, create

from virtshape.api.model import JsonObject
from virtshape.apiserver.limits import MAX_BODY_BYTES

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def read_objects(server: System, name: str) -> list[JsonObject]:
    """Return a VM, its instance type and its revisions, as `kubectl get -o yaml` prints them."""
    objects = [server.request("GET", f"{path}/{name}")[1] for path in (VMS, INSTANCETYPES)]
    _, revisions = server.request("GET", REVISIONS)
    owned = [each for each in revisions["items"] if each["metadata"]["name"].startswith(f"{name}-")]
    return [*objects, *({"apiVersion": "apps/v1", "kind": "ControllerRevision", **each} for each in owned)]


def export_vm(server: System, directory: Path, name: str) -> Path:
    """Create a VM with an instance type, write both and the VM's revision to a file, and delete them."""
    create(server, INSTANCETYPES, build_instancetype(name, memory="512Mi"))
    create(server, VMS, build_vm(name, run_strategy="Halted", instancetype=name))
    objects = wait_until(
        lambda: read_objects(server, name) if is_pinned(server, name) else [], "the VM has no revision"
    )
    assert len(objects) == 3
    dump = directory / "dump.yaml"
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects}))
    for path in (VMS, INSTANCETYPES):
        server.request("DELETE", f"{path}/{name}")
    wait_until(lambda: not has_revision(server, name), "the revision is not removed")
    return dump


def is_pinned(server: System, name: str) -> bool:
    """Return True if the VM names its revision, which exists before."""
    return "revisionName" in server.request("GET", f"{VMS}/{name}")[1]["spec"]["instancetype"]


def has_revision(server: System, name: str) -> bool:
    _, revisions = server.request("GET", REVISIONS)
    return any(each["metadata"]["name"].startswith(f"{name}-") for each in revisions["items"])


def show_plan(page: Page, *files: Path) -> None:
    page.goto("/console/vms")
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("Files").set_input_files(files)
    page.get_by_role("button", name="Show plan").click()


def get_row(page: Page, kind: str) -> Locator:
    return page.get_by_role("row").filter(has_text=kind)


def paste(page: Page, *objects: JsonObject) -> None:
    page.goto("/console/import")
    page.get_by_label("Or paste objects").fill("\n---\n".join(json.dumps(each) for each in objects))
    page.get_by_role("button", name="Show plan").click()


def test_vm_is_imported_with_its_revision_and_is_listed(signed_in_page: Page, server: System, tmp_path: Path) -> None:
    page = signed_in_page
    dump = export_vm(server, tmp_path, "imported")
    show_plan(page, dump)
    for kind in ("VirtualMachineInstancetype", "ControllerRevision", "VirtualMachine in"):
        expect(get_row(page, kind)).to_contain_text("Create")
    expect(get_row(page, "Namespace")).to_contain_text("Exists")
    get_row(page, "VirtualMachine in").get_by_text("fields dropped").click()
    expect(get_row(page, "VirtualMachine in")).to_contain_text("metadata.uid")
    expect(get_row(page, "VirtualMachine in")).to_contain_text("set by the server")
    assert list_violations(page) == []
    page.get_by_role("button", name="Import 3 objects").click()
    expect(page.get_by_role("status").filter(has_text="3 created")).to_be_visible()
    assert list_violations(page) == []
    get_row(page, "VirtualMachine in").get_by_role("link", name="imported").click()
    expect(page.get_by_role("heading", name="imported")).to_be_visible()
    page.goto("/console/vms")
    expect(page.get_by_role("row").filter(has_text="imported")).to_be_visible()
    _, vm = server.request("GET", f"{VMS}/imported")
    _, revision = server.request("GET", f"{REVISIONS}/{vm['spec']['instancetype']['revisionName']}")
    assert [owner["uid"] for owner in revision["metadata"]["ownerReferences"]] == [vm["metadata"]["uid"]]


def test_second_import_of_the_same_file_has_nothing_to_import(
    signed_in_page: Page, server: System, tmp_path: Path
) -> None:
    page = signed_in_page
    dump = export_vm(server, tmp_path, "twice")
    show_plan(page, dump)
    page.get_by_role("button", name="Import 3 objects").click()
    expect(page.get_by_role("status").filter(has_text="3 created")).to_be_visible()
    page.get_by_role("button", name="Import more").click()
    page.get_by_role("button", name="Show plan").click()
    expect(page.get_by_role("status").filter(has_text="4 existing")).to_be_visible()
    expect(page.get_by_role("button", name="Nothing to import")).to_be_disabled()


def test_differing_object_is_updated_only_if_the_option_is_selected(signed_in_page: Page, server: System) -> None:
    page = signed_in_page
    create(server, INSTANCETYPES, build_instancetype("differing", memory="1Gi"))
    wanted = build_instancetype("differing", memory="2Gi", namespace="default")
    paste(page, wanted)
    row = get_row(page, "VirtualMachineInstancetype")
    expect(row).to_contain_text("Differs")
    row.get_by_text("1 field with other values").click()
    expect(row).to_contain_text("2Gi in the file, 1Gi on the server")
    expect(page.get_by_role("button", name="Nothing to import")).to_be_disabled()
    page.get_by_label("Update objects that differ").check()
    page.get_by_role("button", name="Import 1 object").click()
    expect(row).to_contain_text("Updated")
    assert server.request("GET", f"{INSTANCETYPES}/differing")[1]["spec"]["memory"]["guest"] == "2Gi"


def test_problems_of_a_file_are_shown_with_their_line(signed_in_page: Page, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: broken}\nspec: 3\n")
    show_plan(signed_in_page, broken)
    alert = signed_in_page.get_by_role("alert")
    expect(alert).to_contain_text("broken.yaml:4")
    expect(signed_in_page.get_by_label("Files")).to_be_visible()
    assert list_violations(signed_in_page) == []


def test_refusal_of_an_object_is_shown_with_the_reason_from_the_server(signed_in_page: Page) -> None:
    refused: dict[str, Any] = build_vm("refused", instancetype="missing", namespace="default")
    refused["spec"]["instancetype"]["revisionName"] = "missing-revision"
    paste(signed_in_page, refused, build_instancetype("accepted", namespace="default"))
    signed_in_page.get_by_role("button", name="Import 2 objects").click()
    expect(get_row(signed_in_page, "refused")).to_contain_text("Failed")
    expect(get_row(signed_in_page, "refused")).to_contain_text("missing")
    expect(get_row(signed_in_page, "accepted")).to_contain_text("Created")


def test_viewer_sees_the_plan_but_cannot_import(viewer_page: Page) -> None:
    paste(viewer_page, build_instancetype("forbidden", namespace="default"))
    expect(get_row(viewer_page, "forbidden")).to_contain_text("Create")
    viewer_page.get_by_role("button", name="Import 1 object").click()
    expect(get_row(viewer_page, "forbidden")).to_contain_text("Failed")
    expect(get_row(viewer_page, "forbidden")).to_contain_text('User "viewer" cannot create')


def test_files_above_the_limit_of_the_api_are_not_sent(signed_in_page: Page, tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_text("#" * MAX_BODY_BYTES)
    show_plan(signed_in_page, large)
    expect(signed_in_page.get_by_role("alert")).to_contain_text("the API accepts 3MiB")
