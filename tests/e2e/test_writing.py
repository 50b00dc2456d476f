"""kubectl commands that write objects, and their messages."""

import json
from pathlib import Path

import pytest
from tests.support.kubectl import Kubectl
from tests.support.manifests import write_manifest
from tests.support.smallmanifests import build_config_map, build_instancetype, build_vm

MACHINE = "virtualmachine.kubevirt.io/web"


def test_kubectl_apply_reports_created_unchanged_or_configured(kubectl: Kubectl) -> None:
    assert kubectl.apply(build_vm()) == f"{MACHINE} created\n"
    before = kubectl.get("vm", "web")["metadata"]
    assert kubectl.apply(build_vm()) == f"{MACHINE} unchanged\n"
    assert kubectl.get("vm", "web")["metadata"] == before
    assert kubectl.apply(build_vm(runStrategy="Always")) == f"{MACHINE} configured\n"
    after = kubectl.get("vm", "web")
    assert after["spec"]["runStrategy"] == "Always"
    assert after["metadata"]["generation"] == before["generation"] + 1


def test_field_missing_from_apply_is_removed(kubectl: Kubectl) -> None:
    kubectl.apply(build_config_map(a="1", b="2"))
    kubectl.apply(build_config_map(a="1"))
    assert kubectl.get("configmap", "settings")["data"] == {"a": "1"}
    kubectl.apply(build_vm(labels={"app": "web", "tier": "front"}))
    kubectl.apply(build_vm(labels={"app": "web"}))
    assert kubectl.get("vm", "web")["metadata"]["labels"] == {"app": "web"}


def test_directory_of_manifests_is_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    write_manifest(str(tmp_path / "folder" / "all.yaml"), build_vm(), build_instancetype(), build_config_map())
    assert kubectl("apply", "-f", tmp_path / "folder").splitlines() == [
        f"{MACHINE} created",
        "virtualmachineinstancetype.instancetype.kubevirt.io/small created",
        "configmap/settings created",
    ]


def test_create_of_an_existing_object_is_rejected(kubectl: Kubectl, tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_vm())
    assert kubectl("create", "-f", file) == f"{MACHINE} created\n"
    assert 'virtualmachines.kubevirt.io "web" already exists' in kubectl.run_rejected("create", "-f", file)


def test_generate_name_creates_unique_names(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_vm()
    tree["metadata"] = {"generateName": "web-"}
    file = write_manifest(str(tmp_path / "vm.yaml"), tree)
    names = {kubectl("create", "-f", file, "-o", "name").strip() for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("virtualmachine.kubevirt.io/web-") for name in names)


@pytest.mark.parametrize(
    ("arguments", "kind", "name"),
    [
        (("namespace", "{ns}-2"), "namespace", "{ns}-2"),
        (("configmap", "c", "--from-literal=a=1"), "configmap", "c"),
        (("secret", "generic", "s", "--from-literal=a=1"), "secret", "s"),
        (("serviceaccount", "robot"), "serviceaccount", "robot"),
        (("role", "r", "--verb=get", "--resource=virtualmachines.kubevirt.io"), "role", "r"),
        (("rolebinding", "b", "--clusterrole=view", "--user=bob"), "rolebinding", "b"),
        (("clusterrole", "{ns}", "--verb=get", "--resource=nodes"), "clusterrole", "{ns}"),
        (("deployment", "d", "--image=nginx"), "deployment", "d"),
        (("service", "clusterip", "s", "--tcp=80:8080"), "service", "s"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each[:2]),
)
def test_kubectl_creates_objects_from_flags(kubectl: Kubectl, arguments: tuple[str, ...], kind: str, name: str) -> None:
    name = name.format(ns=kubectl.namespace)
    kubectl("create", *(word.format(ns=kubectl.namespace) for word in arguments))
    assert kubectl.get(kind, name)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"spec": {"runStrategy": "Always"}}'),
        ("json", '[{"op": "replace", "path": "/spec/runStrategy", "value": "Always"}]'),
    ],
)
def test_vm_can_be_patched(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl.apply(build_vm())
    assert kubectl("patch", "vm", "web", "--type", kind, "-p", patch) == f"{MACHINE} patched\n"
    assert kubectl("patch", "vm", "web", "--type", kind, "-p", patch) == f"{MACHINE} patched (no change)\n"
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Always"


def test_core_kind_accepts_a_strategic_merge_patch(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "d", "--image=nginx")
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    kubectl("patch", "deployment", "d", "-p", json.dumps(patch))
    containers = kubectl.get("deployment", "d")["spec"]["template"]["spec"]["containers"]
    assert {each["name"] for each in containers} == {"nginx", "side"}


def test_kubectl_edit_changes_an_object(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    editor = "sed -i s/u1.medium/u1.large/"
    assert kubectl("edit", "vm", "web", KUBE_EDITOR=editor) == f"{MACHINE} edited\n"
    assert kubectl.get("vm", "web")["spec"]["instancetype"]["name"] == "u1.large"


def test_rejected_kubectl_edit_shows_the_reason(kubectl: Kubectl) -> None:
    kubectl.apply(build_instancetype())
    edited = kubectl.run("edit", "vminstancetype", "small", KUBE_EDITOR="sed -i 's/guest: 2$/guest: many/'")
    assert edited.status != 0
    assert '"small" is invalid' in edited.err


def test_labels_and_annotations_are_added_and_removed(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    generation = kubectl.get("vm", "web")["metadata"]["generation"]
    assert kubectl("label", "vm", "web", "tier=front").startswith(MACHINE)
    assert "overwrite is false" in kubectl.run_rejected("label", "vm", "web", "tier=back")
    kubectl("label", "vm", "web", "tier=back", "--overwrite")
    kubectl("annotate", "vm", "web", "note=hello there")
    metadata = kubectl.get("vm", "web")["metadata"]
    assert metadata["labels"] == {"app": "web", "tier": "back"}
    assert metadata["annotations"]["note"] == "hello there"
    assert metadata["generation"] == generation
    kubectl("label", "vm", "web", "tier-")
    kubectl("annotate", "vm", "web", "note-")
    metadata = kubectl.get("vm", "web")["metadata"]
    assert metadata["labels"] == {"app": "web"}
    assert "note" not in metadata["annotations"]


def test_kubectl_diff_shows_changes_without_storing_them(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_vm())
    same = write_manifest(str(tmp_path / "same.yaml"), build_vm())
    other = write_manifest(str(tmp_path / "other.yaml"), build_vm(runStrategy="Always"))
    assert kubectl.run("diff", "-f", same) == (0, "", "")
    result = kubectl.run("diff", "-f", other)
    assert result.status == 1
    assert "-  runStrategy: Halted" in result.out
    assert "+  runStrategy: Always" in result.out
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Halted"


def test_replace_removes_omitted_fields(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_vm(labels={"app": "web", "tier": "front"}))
    before = kubectl.get("vm", "web")
    fresh = write_manifest(str(tmp_path / "vm.yaml"), build_vm())
    assert kubectl("replace", "-f", fresh) == f"{MACHINE} replaced\n"
    after = kubectl.get("vm", "web")
    assert after["metadata"]["labels"] == {"app": "web"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    stale = write_manifest(str(tmp_path / "stale.json"), before)
    assert "the object has been modified" in kubectl.run_rejected("replace", "-f", stale)


def test_forced_replace_creates_a_new_object(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_vm())
    before = kubectl.get("vm", "web")["metadata"]["uid"]
    kubectl("replace", "--force", "-f", write_manifest(str(tmp_path / "vm.yaml"), build_vm()))
    assert kubectl.get("vm", "web")["metadata"]["uid"] != before


@pytest.mark.parametrize(
    "arguments", [("apply",), ("create",), ("apply", "--server-side")], ids=["apply", "create", "server-side"]
)
def test_server_side_dry_run_stores_nothing(kubectl: Kubectl, arguments: tuple[str, ...], tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_vm())
    shown = json.loads(kubectl(*arguments, "--dry-run=server", "-o", "json", "-f", file))
    assert shown["metadata"]["uid"]
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


def test_dry_run_of_a_deletion_deletes_nothing(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    kubectl("delete", "vm", "web", "--dry-run=server")
    assert kubectl.get("vm", "web")


def test_two_field_managers_share_an_object_and_resolve_a_conflict(kubectl: Kubectl, tmp_path: Path) -> None:
    arguments = ("apply", "--server-side", "--field-manager")
    first = write_manifest(str(tmp_path / "first.yaml"), build_config_map(a="1", b="1"))
    second = write_manifest(str(tmp_path / "second.yaml"), build_config_map(b="2", c="2"))
    kubectl(*arguments, "alice", "-f", first)
    refusal = kubectl.run_rejected(*arguments, "bob", "-f", second)
    assert 'conflict with "alice": .data.b' in refusal
    kubectl(*arguments, "bob", "--force-conflicts", "-f", second)
    assert kubectl.get("configmap", "settings")["data"] == {"a": "1", "b": "2", "c": "2"}
    kubectl(*arguments, "alice", "-f", write_manifest(str(tmp_path / "less.yaml"), build_config_map(c="2")))
    assert kubectl.get("configmap", "settings")["data"] == {"b": "2", "c": "2"}


def test_two_field_managers_share_a_vm(kubectl: Kubectl, tmp_path: Path) -> None:
    arguments = ("apply", "--server-side", "--field-manager")
    kubectl(*arguments, "alice", "-f", write_manifest(str(tmp_path / "vm.yaml"), build_vm()))
    other = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"runStrategy": "Always"},
    }
    file = write_manifest(str(tmp_path / "other.yaml"), other)
    refusal = kubectl.run_rejected(*arguments, "bob", "--validate=false", "-f", file)
    assert 'conflict with "alice": .spec.runStrategy' in refusal
    kubectl(*arguments, "bob", "--force-conflicts", "--validate=false", "-f", file)
    spec = kubectl.get("vm", "web")["spec"]
    assert spec["runStrategy"] == "Always"
    assert spec["instancetype"]["name"] == "u1.medium"


def test_client_side_apply_migrates_to_server_side_apply(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    kubectl.apply(build_vm(runStrategy="Always"), arguments=("--server-side", "--force-conflicts"))
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Always"


def test_unknown_field_is_rejected_before_anything_is_stored(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_vm()
    tree["spec"]["runStrategi"] = "Always"
    file = write_manifest(str(tmp_path / "vm.yaml"), tree)
    refusal = kubectl.run_rejected("apply", "-f", file)
    assert "runStrategi" in refusal
    if kubectl.version >= (1, 25):
        assert 'unknown field "spec.runStrategi"' in kubectl.run_rejected("apply", "--validate=strict", "-f", file)
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


def test_unknown_field_causes_a_warning_with_validate_warn(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_vm()
    tree["spec"]["runStrategi"] = "Always"
    result = kubectl.run("apply", "--validate=warn", "-f", write_manifest(str(tmp_path / "vm.yaml"), tree))
    if kubectl.version < (1, 25):
        assert 'invalid argument "warn"' in result.err, "older versions accept only true and false"
        return
    assert result.status == 0
    assert 'Warning: unknown field "spec.runStrategi"' in result.err
    assert "runStrategi" not in json.dumps(kubectl.get("vm", "web")["spec"])


def test_wrong_type_is_reported_with_its_path(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_instancetype()
    tree["spec"]["cpu"]["guest"] = "many"
    refusal = kubectl.run_rejected(
        "create", "--validate=false", "-f", write_manifest(str(tmp_path / "type.yaml"), tree)
    )
    assert "spec.cpu.guest" in refusal


def test_object_in_a_missing_namespace_is_rejected(kubectl: Kubectl, tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_vm())
    refusal = kubectl.in_namespace("nowhere").run_rejected("apply", "-f", file)
    assert 'namespaces "nowhere" not found' in refusal


def test_status_is_written_separately_from_spec(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    patch = '{"status": {"ready": true}, "spec": {"runStrategy": "Always"}}'
    arguments = ("patch", "vm", "web", "--subresource=status", "--type=merge", "-p", patch)
    if kubectl.version < (1, 24):
        assert "unknown flag: --subresource" in kubectl.run_rejected(*arguments), (
            "older versions cannot write the status"
        )
        return
    kubectl(*arguments)
    machine = kubectl.get("vm", "web")
    assert machine["status"]["ready"] is True
    assert machine["spec"]["runStrategy"] == "Halted"
