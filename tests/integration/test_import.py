"""`virtshape import` with a dump of KubeVirt, from a file and from another server, and with running controllers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import CommandResult, call_virtshape
from tests.support.controllers import open_controlled_system
from tests.support.kubevirtdump import DUMP, SIZE_REVISION, SIZE_UID, WEB_UID
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.apiserver.auth.authentication import AUTHENTICATED, User
from virtshape.cli.importer import NO_ACCESS, Importer
from virtshape.cli.importsource import read_files
from virtshape.offline.importplan import plan_import
from virtshape.standalone.inprocesstransport import connect

REVISION = f"/apis/apps/v1/namespaces/shop/controllerrevisions/{SIZE_REVISION}"
VM = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/web"
SIZE = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes/cx1.medium"


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of an empty server; the current context of the kubeconfig refers to this server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "target" / "kubeconfig"))
    with LoopbackServer(tmp_path / "target") as server:
        client = server.connect()
        yield client
        client.close()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.yaml"
    path.write_text(DUMP)
    return path


def read_report(result: CommandResult) -> dict[str, Any]:
    return {f"{each['kind']}/{each['name']}": each for each in json.loads(result.out)}


def test_vms_and_their_revisions_are_imported_with_new_uids(target: Client, dump: Path) -> None:
    result = call_virtshape("import", str(dump), "-o", "json")
    assert result.status == 0, result.err
    report = read_report(result)
    assert {each["result"] for each in report.values()} == {"created", "skipped"}
    vm, revision = target.get(VM).tree, target.get(REVISION).tree
    assert vm["metadata"]["uid"] != WEB_UID
    assert vm["spec"]["instancetype"]["revisionName"] == SIZE_REVISION
    assert [owner["uid"] for owner in revision["metadata"]["ownerReferences"]] == [vm["metadata"]["uid"]]
    assert revision["data"]["metadata"]["uid"] == SIZE_UID
    assert revision["data"]["spec"] == {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}


def test_import_report_lists_defaults_and_dropped_fields(target: Client, dump: Path) -> None:
    del target
    result = call_virtshape("import", str(dump), "--fields")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    start = "shop virtualmachine/web created"
    assert f"{start} changed spec.template.spec.architecture: <none> -> amd64" in lines
    assert f"{start} dropped spec.template.spec.domain.futureField: unknown field" in lines
    assert f"{start} dropped status: set by the server" in lines
    assert "shop virtualmachineinstancemigration/web-move skipped objects of this kind are not imported" in lines
    assert "6 created, 5 skipped" in result.err


def test_dry_run_of_an_import_changes_nothing_and_reports_the_same_objects(target: Client, dump: Path) -> None:
    result = call_virtshape("import", str(dump), "--dry-run")
    assert result.status == 0, result.err
    assert "dry run, nothing was changed: 6 created, 5 skipped" in result.err
    assert target.get(SIZE).status == 404
    assert target.get("/api/v1/namespaces/shop").status == 404


def test_server_validates_a_dry_run_of_an_import(target: Client, dump: Path) -> None:
    del target
    dump.write_text(
        DUMP.replace(
            "spec: {cpu: {guest: 2}, memory: {guest: 4Gi}}",
            "spec: {cpu: {guest: 2, isolateEmulatorThread: true}, memory: {guest: -1Gi}}",
        )
    )
    result = call_virtshape("import", str(dump), "--dry-run")
    assert result.status == 1
    assert "error: 1 object was not imported" in result.err
    assert "virtualmachineclusterinstancetype/cx1.medium: " in result.err


def test_second_import_reports_all_objects_as_unchanged(target: Client, dump: Path) -> None:
    assert call_virtshape("import", str(dump)).status == 0
    before = target.get(VM).tree["metadata"]["resourceVersion"]
    result = call_virtshape("import", str(dump))
    assert result.status == 0, result.err
    assert "6 unchanged, 5 skipped" in result.err
    assert target.get(VM).tree["metadata"]["resourceVersion"] == before


def test_vm_of_a_deleted_instance_type_is_imported_with_its_revision(target: Client, dump: Path) -> None:
    documents = [
        text for text in DUMP.split("---\n") if "kind: VirtualMachineClusterInstancetype\nmetadata:" not in text
    ]
    dump.write_text("---\n".join(documents))
    result = call_virtshape("import", str(dump))
    assert result.status == 0, result.err
    assert target.get(SIZE).status == 404
    assert target.get(VM).tree["spec"]["instancetype"]["revisionName"] == SIZE_REVISION


INFERRING = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: inferring, namespace: default}
spec:
  runStrategy: Halted
  instancetype: {inferFromVolume: root}
  template: {spec: {domain: {devices: {}}, volumes: [{name: root, persistentVolumeClaim: {claimName: fedora}}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: fedora
  namespace: default
  labels: {instancetype.kubevirt.io/default-instancetype: small}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: small}
spec: {cpu: {guest: 2}, memory: {guest: 4Gi}}
"""


def test_vm_infers_its_instance_type_from_an_imported_claim(target: Client, dump: Path) -> None:
    dump.write_text(INFERRING)
    trial = call_virtshape("import", str(dump), "--dry-run")
    assert trial.status == 0, trial.err
    assert call_virtshape("import", str(dump)).status == 0
    vm = target.get("/apis/kubevirt.io/v1/namespaces/default/virtualmachines/inferring").tree
    assert vm["spec"]["instancetype"]["name"] == "small"
    again = call_virtshape("import", str(dump))
    assert "4 unchanged" in again.err


def test_imported_vm_becomes_the_owner_of_the_revision_of_a_deleted_vm(target: Client, dump: Path) -> None:
    assert call_virtshape("import", str(dump)).status == 0
    stale = target.get(VM).tree["metadata"]["uid"]
    assert target.delete(VM).status == 200
    assert call_virtshape("import", str(dump)).status == 0
    owners = [owner["uid"] for owner in target.get(REVISION).tree["metadata"]["ownerReferences"]]
    assert owners == [target.get(VM).tree["metadata"]["uid"]]
    assert owners != [stale]


def test_import_does_not_change_an_existing_object_that_differs(target: Client, dump: Path) -> None:
    assert call_virtshape("import", str(dump)).status == 0
    target.patch(SIZE, {"spec": {"memory": {"guest": "8Gi"}}})
    result = call_virtshape("import", str(dump), "-o", "json")
    assert result.status == 1
    found = read_report(result)["VirtualMachineClusterInstancetype/cx1.medium"]
    assert found["result"] == "differs"
    assert found["changes"] == [{"field": "spec.memory.guest", "then": "4Gi", "now": "8Gi"}]
    assert target.get(SIZE).tree["spec"]["memory"]["guest"] == "8Gi"
    assert "use --overwrite to update it" in result.err


def test_overwrite_updates_an_existing_object_without_recreating_it(target: Client, dump: Path) -> None:
    assert call_virtshape("import", str(dump)).status == 0
    changed = target.patch(SIZE, {"metadata": {"labels": {"team": "a"}}, "spec": {"memory": {"guest": "8Gi"}}}).tree
    result = call_virtshape("import", str(dump), "--overwrite")
    assert result.status == 0, result.err
    stored = target.get(SIZE).tree
    assert stored["spec"]["memory"]["guest"] == "4Gi"
    assert stored["metadata"]["uid"] == changed["metadata"]["uid"]
    assert stored["metadata"]["labels"]["team"] == "a"


def test_import_continues_after_an_object_that_the_server_refuses(target: Client, dump: Path) -> None:
    dump.write_text(
        DUMP.replace(f"controllerRevisionRef: {{name: {SIZE_REVISION}}}", "controllerRevisionRef: {name: lost}")
    )
    result = call_virtshape("import", str(dump))
    assert result.status == 1
    assert "shop/virtualmachine/web: " in result.err
    assert "lost" in result.err
    assert target.get(VM).status == 404
    assert target.get(SIZE).status == 200


def test_files_with_errors_are_reported_before_anything_is_imported(target: Client, dump: Path) -> None:
    dump.write_text(DUMP + "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: bad}\nspec: 5\n")
    result = call_virtshape("import", str(dump))
    assert result.status == 1
    assert "dump.yaml:" in result.err
    assert target.get(SIZE).status == 404


def test_objects_are_imported_from_another_server(target: Client, dump: Path, tmp_path: Path) -> None:
    with LoopbackServer(tmp_path / "source"):
        kubeconfig = tmp_path / "source" / "kubeconfig"
        assert call_virtshape("import", str(dump), "--to-kubeconfig", str(kubeconfig)).status == 0
        assert target.get(VM).status == 404
        arguments = ["--context", "admin@virtshape", "--kubeconfig", str(kubeconfig)]
        result = call_virtshape("import", *arguments, "--to-kubeconfig", str(tmp_path / "target" / "kubeconfig"))
        assert result.status == 0, result.err
        refused = call_virtshape("import", *arguments)
    revision = target.get(REVISION).tree
    assert [owner["uid"] for owner in revision["metadata"]["ownerReferences"]] == [
        target.get(VM).tree["metadata"]["uid"]
    ]
    assert refused.status == 2
    assert "--context names the server to import into" in refused.err


@pytest.mark.parametrize("arguments", [[], ["dump.yaml", "--context", "prod"]], ids=["neither", "both"])
def test_import_requires_either_files_or_a_context(arguments: list[str]) -> None:
    result = call_virtshape("import", *arguments)
    assert result.status == 2
    assert "specify either files or --context" in result.err


async def test_user_of_one_namespace_can_import_into_that_namespace(dump: Path, tmp_path: Path) -> None:
    plan = plan_import(read_files([str(dump)]).entries)
    async with open_controlled_system(tmp_path) as system:
        await system.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "owner", "namespace": "shop"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "kubevirt.io:admin",
                },
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
            },
        )
        outcomes = await Importer(connect(system.server, User("jane", (AUTHENTICATED,)))).run(plan)
        results = {outcome.kind: (outcome.result, outcome.message) for outcome in outcomes[: len(plan.steps)]}
        assert results["Namespace"] == ("skipped", NO_ACCESS)
        assert results["VirtualMachinePreference"][0] == "created"
        assert results["VirtualMachineClusterInstancetype"][0] == "failed"
        assert "forbidden" in results["VirtualMachineClusterInstancetype"][1]


async def test_imported_vm_starts_from_its_imported_revision(dump: Path, tmp_path: Path) -> None:
    plan = plan_import(read_files([str(dump)]).entries)
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        outcomes = await Importer(system.client).run(plan)
        assert not [each for each in outcomes if each.result == "failed"]
        await system.wait_until_idle(controllers)
        vmi = await system.client.get(VirtualMachineInstance, "web", "shop")
        assert vmi.spec.domain.memory is not None
        assert str(vmi.spec.domain.memory.guest) == "1Gi"
        vm = await system.client.get(VirtualMachine, "web", "shop")
        revisions = (await system.client.list(ControllerRevision, "shop")).items
        owners = {owner.uid for each in revisions for owner in each.metadata.owner_references or ()}
        assert owners == {vm.metadata.uid}
        again = await Importer(system.client).run(plan)
        assert {each.result for each in again} == {"unchanged", "skipped"}


async def test_overwrite_does_not_revert_a_revision_that_the_controllers_replaced(dump: Path, tmp_path: Path) -> None:
    plan = plan_import(read_files([str(dump)]).entries, halt=True)
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await Importer(system.client).run(plan)
        await system.wait_until_idle(controllers)
        patch = {"spec": {"runStrategy": "Manual"}}
        changed = await system.client.patch(VirtualMachine, "web", "shop", patch=patch)
        assert changed.spec.instancetype is not None
        assert (
            changed.spec.instancetype.revision_name != SIZE_REVISION
        )  # the controllers upgraded the revision to the stored version
        await system.wait_until_idle(controllers)  # a status write during the import would be a conflict
        outcomes = await Importer(system.client, overwrite=True).run(plan)
        assert {each.result for each in outcomes} == {"updated", "unchanged", "skipped"}
        vm = await system.client.get(VirtualMachine, "web", "shop")
        assert vm.spec.run_strategy == "Halted"
        assert vm.spec.instancetype == changed.spec.instancetype
