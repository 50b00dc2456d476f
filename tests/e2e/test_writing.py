"""What people do to objects with kubectl, and what it tells them."""

import json
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.manifests import build_machine, build_settings, build_size
from tests.support.manifests import write_manifest

MACHINE = "virtualmachine.kubevirt.io/web"


def test_second_apply_changes_nothing_and_a_change_is_configured(kubectl: Kubectl) -> None:
    assert kubectl.apply(build_machine()) == f"{MACHINE} created\n"
    before = kubectl.get("vm", "web")["metadata"]
    assert kubectl.apply(build_machine()) == f"{MACHINE} unchanged\n"
    assert kubectl.get("vm", "web")["metadata"] == before
    assert kubectl.apply(build_machine(runStrategy="Always")) == f"{MACHINE} configured\n"
    after = kubectl.get("vm", "web")
    assert after["spec"]["runStrategy"] == "Always"
    assert after["metadata"]["generation"] == before["generation"] + 1


def test_field_missing_from_apply_is_removed(kubectl: Kubectl) -> None:
    kubectl.apply(build_settings(a="1", b="2"))
    kubectl.apply(build_settings(a="1"))
    assert kubectl.get("configmap", "settings")["data"] == {"a": "1"}
    kubectl.apply(build_machine(labels={"app": "web", "tier": "front"}))
    kubectl.apply(build_machine(labels={"app": "web"}))
    assert kubectl.get("vm", "web")["metadata"]["labels"] == {"app": "web"}


def test_directory_of_manifests_is_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    write_manifest(str(tmp_path / "folder" / "all.yaml"), build_machine(), build_size(), build_settings())
    assert kubectl("apply", "-f", tmp_path / "folder").splitlines() == [
        f"{MACHINE} created",
        "virtualmachineinstancetype.instancetype.kubevirt.io/small created",
        "configmap/settings created",
    ]


def test_second_create_is_rejected(kubectl: Kubectl, tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_machine())
    assert kubectl("create", "-f", file) == f"{MACHINE} created\n"
    assert 'virtualmachines.kubevirt.io "web" already exists' in kubectl.refused("create", "-f", file)


def test_names_are_generated_on_request(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_machine()
    tree["metadata"] = {"generateName": "web-"}
    file = write_manifest(str(tmp_path / "vm.yaml"), tree)
    names = {kubectl("create", "-f", file, "-o", "name").strip() for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("virtualmachine.kubevirt.io/web-") for name in names)


@pytest.mark.parametrize(
    ("words", "kind", "name"),
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
def test_kubectl_creates_objects_from_flags(kubectl: Kubectl, words: tuple[str, ...], kind: str, name: str) -> None:
    name = name.format(ns=kubectl.namespace)
    kubectl("create", *(word.format(ns=kubectl.namespace) for word in words))
    assert kubectl.get(kind, name)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"spec": {"runStrategy": "Always"}}'),
        ("json", '[{"op": "replace", "path": "/spec/runStrategy", "value": "Always"}]'),
    ],
)
def test_vm_is_patched(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl.apply(build_machine())
    assert kubectl("patch", "vm", "web", "--type", kind, "-p", patch) == f"{MACHINE} patched\n"
    assert kubectl("patch", "vm", "web", "--type", kind, "-p", patch) == f"{MACHINE} patched (no change)\n"
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Always"


def test_core_kind_accepts_a_strategic_merge_patch(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "d", "--image=nginx")
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    kubectl("patch", "deployment", "d", "-p", json.dumps(patch))
    containers = kubectl.get("deployment", "d")["spec"]["template"]["spec"]["containers"]
    assert {each["name"] for each in containers} == {"nginx", "side"}


def test_object_is_edited(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    editor = "sed -i s/u1.medium/u1.large/"
    assert kubectl("edit", "vm", "web", KUBE_EDITOR=editor) == f"{MACHINE} edited\n"
    assert kubectl.get("vm", "web")["spec"]["instancetype"]["name"] == "u1.large"


def test_rejected_edit_is_explained(kubectl: Kubectl) -> None:
    kubectl.apply(build_size())
    edited = kubectl.run("edit", "vminstancetype", "small", KUBE_EDITOR="sed -i 's/guest: 2$/guest: many/'")
    assert edited.status != 0
    assert '"small" is invalid' in edited.err


def test_labels_and_annotations_are_added_and_removed(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    generation = kubectl.get("vm", "web")["metadata"]["generation"]
    assert kubectl("label", "vm", "web", "tier=front").startswith(MACHINE)
    assert "overwrite is false" in kubectl.refused("label", "vm", "web", "tier=back")
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


def test_diff_is_shown_without_storing_anything(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_machine())
    same = write_manifest(str(tmp_path / "same.yaml"), build_machine())
    other = write_manifest(str(tmp_path / "other.yaml"), build_machine(runStrategy="Always"))
    assert kubectl.run("diff", "-f", same) == (0, "", "")
    ran = kubectl.run("diff", "-f", other)
    assert ran.status == 1
    assert "-  runStrategy: Halted" in ran.out
    assert "+  runStrategy: Always" in ran.out
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Halted"


def test_object_is_replaced_as_a_whole(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_machine(labels={"app": "web", "tier": "front"}))
    before = kubectl.get("vm", "web")
    fresh = write_manifest(str(tmp_path / "vm.yaml"), build_machine())
    assert kubectl("replace", "-f", fresh) == f"{MACHINE} replaced\n"
    after = kubectl.get("vm", "web")
    assert after["metadata"]["labels"] == {"app": "web"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    stale = write_manifest(str(tmp_path / "stale.json"), before)
    assert "the object has been modified" in kubectl.refused("replace", "-f", stale)


def test_forced_replace_creates_a_new_object(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(build_machine())
    before = kubectl.get("vm", "web")["metadata"]["uid"]
    kubectl("replace", "--force", "-f", write_manifest(str(tmp_path / "vm.yaml"), build_machine()))
    assert kubectl.get("vm", "web")["metadata"]["uid"] != before


@pytest.mark.parametrize(
    "words", [("apply",), ("create",), ("apply", "--server-side")], ids=["apply", "create", "server-side"]
)
def test_server_side_dry_run_stores_nothing(kubectl: Kubectl, words: tuple[str, ...], tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_machine())
    shown = json.loads(kubectl(*words, "--dry-run=server", "-o", "json", "-f", file))
    assert shown["metadata"]["uid"]
    assert "not found" in kubectl.refused("get", "vm", "web")


def test_dry_run_of_a_deletion_deletes_nothing(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    kubectl("delete", "vm", "web", "--dry-run=server")
    assert kubectl.get("vm", "web")


def test_two_managers_share_an_object_and_resolve_a_conflict(kubectl: Kubectl, tmp_path: Path) -> None:
    words = ("apply", "--server-side", "--field-manager")
    first = write_manifest(str(tmp_path / "first.yaml"), build_settings(a="1", b="1"))
    second = write_manifest(str(tmp_path / "second.yaml"), build_settings(b="2", c="2"))
    kubectl(*words, "alice", "-f", first)
    refusal = kubectl.refused(*words, "bob", "-f", second)
    assert 'conflict with "alice": .data.b' in refusal
    kubectl(*words, "bob", "--force-conflicts", "-f", second)
    assert kubectl.get("configmap", "settings")["data"] == {"a": "1", "b": "2", "c": "2"}
    kubectl(*words, "alice", "-f", write_manifest(str(tmp_path / "less.yaml"), build_settings(c="2")))
    assert kubectl.get("configmap", "settings")["data"] == {"b": "2", "c": "2"}


def test_two_managers_share_a_vm(kubectl: Kubectl, tmp_path: Path) -> None:
    words = ("apply", "--server-side", "--field-manager")
    kubectl(*words, "alice", "-f", write_manifest(str(tmp_path / "vm.yaml"), build_machine()))
    other = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"runStrategy": "Always"},
    }
    file = write_manifest(str(tmp_path / "other.yaml"), other)
    refusal = kubectl.refused(*words, "bob", "--validate=false", "-f", file)
    assert 'conflict with "alice": .spec.runStrategy' in refusal
    kubectl(*words, "bob", "--force-conflicts", "--validate=false", "-f", file)
    spec = kubectl.get("vm", "web")["spec"]
    assert spec["runStrategy"] == "Always"
    assert spec["instancetype"]["name"] == "u1.medium"


def test_client_side_apply_migrates_to_server_side_apply(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    kubectl.apply(build_machine(runStrategy="Always"), words=("--server-side", "--force-conflicts"))
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Always"


def test_unknown_field_is_rejected_before_anything_is_stored(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_machine()
    tree["spec"]["runStrategi"] = "Always"
    file = write_manifest(str(tmp_path / "vm.yaml"), tree)
    refusal = kubectl.refused("apply", "-f", file)
    assert "runStrategi" in refusal
    if kubectl.version >= (1, 25):
        assert 'unknown field "spec.runStrategi"' in kubectl.refused("apply", "--validate=strict", "-f", file)
    assert "not found" in kubectl.refused("get", "vm", "web")


def test_unknown_field_can_be_a_warning(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_machine()
    tree["spec"]["runStrategi"] = "Always"
    ran = kubectl.run("apply", "--validate=warn", "-f", write_manifest(str(tmp_path / "vm.yaml"), tree))
    if kubectl.version < (1, 25):
        assert 'invalid argument "warn"' in ran.err, "older ones know only true and false"
        return
    assert ran.status == 0
    assert 'Warning: unknown field "spec.runStrategi"' in ran.err
    assert "runStrategi" not in json.dumps(kubectl.get("vm", "web")["spec"])


def test_wrong_type_is_reported_with_its_path(kubectl: Kubectl, tmp_path: Path) -> None:
    tree = build_size()
    tree["spec"]["cpu"]["guest"] = "many"
    refusal = kubectl.refused("create", "--validate=false", "-f", write_manifest(str(tmp_path / "type.yaml"), tree))
    assert "spec.cpu.guest" in refusal


def test_object_in_a_missing_namespace_is_rejected(kubectl: Kubectl, tmp_path: Path) -> None:
    file = write_manifest(str(tmp_path / "vm.yaml"), build_machine())
    refusal = kubectl.within("nowhere").refused("apply", "-f", file)
    assert 'namespaces "nowhere" not found' in refusal


def test_status_is_written_separately_from_spec(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    patch = '{"status": {"ready": true}, "spec": {"runStrategy": "Always"}}'
    words = ("patch", "vm", "web", "--subresource=status", "--type=merge", "-p", patch)
    if kubectl.version < (1, 24):
        assert "unknown flag: --subresource" in kubectl.refused(*words), "older ones write no status"
        return
    kubectl(*words)
    machine = kubectl.get("vm", "web")
    assert machine["status"]["ready"] is True
    assert machine["spec"]["runStrategy"] == "Halted"
