"""virtctl commands: selection of the server, authentication and reported results."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from tests.support.kubectl import KubectlResult
from tests.support.smallmanifests import build_instancetype, build_vm
from tests.support.upprocess import System, call_virtshape, wait_until

COMMAND = Path(sys.executable).parent / "virtctl"
Virtctl = Callable[..., KubectlResult]


@pytest.fixture(scope="module")
def acting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server in the user's default data directory, with a VM."""
    with System(tmp_path_factory.mktemp("state") / "virtshape", "--launcher", "simulate") as system:
        code, answer = system.request("POST", vms_path(), build_vm())
        assert code == 201, answer
        yield system


def vms_path(name: str = "") -> str:
    return f"/apis/kubevirt.io/v1/namespaces/default/virtualmachines/{name}".rstrip("/")


@pytest.fixture
def virtctl(acting: System, tmp_path: Path) -> Virtctl:
    def call(*arguments: str, **environment: str) -> KubectlResult:
        cleared = {key: text for key, text in os.environ.items() if key not in ("KUBECONFIG", "VIRTSHAPE_DATA_DIR")}
        own = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(acting.directory.parent)}
        result = subprocess.run(
            [COMMAND, *arguments], capture_output=True, text=True, check=False, env={**cleared, **own, **environment}
        )
        return KubectlResult(result.returncode, result.stdout, result.stderr)

    return call


def read_state(system: System) -> str:
    _, vm = system.request("GET", vms_path("web"))
    return str((vm.get("status") or {}).get("printableStatus"))


def wait_for(system: System, state: str) -> None:
    wait_until(lambda: read_state(system) == state, lambda: f"{read_state(system)}, not {state}")


def wait_for_instance(system: System, *, other_than: str = "") -> str:
    """Wait until the VM has a running instance with a uid other than `other_than`, and return its uid."""

    def probe() -> str:
        code, vmi = system.request("GET", vms_path("web").replace("virtualmachines", "virtualmachineinstances"))
        runs = code == 200 and vmi.get("status", {}).get("phase") == "Running"
        return str(vmi["metadata"]["uid"]) if runs and vmi["metadata"]["uid"] != other_than else ""

    return wait_until(probe, "the VM has no running instance")


def test_virtctl_starts_restarts_and_stops_a_vm(acting: System, virtctl: Virtctl) -> None:
    wait_for(acting, "Stopped")
    assert virtctl("start", "web") == (0, "VM web was scheduled to start\n", "")
    wait_for(acting, "Running")
    first = wait_for_instance(acting)
    assert virtctl("restart", "vm/web") == (0, "VM web was scheduled to restart\n", "")
    wait_for_instance(acting, other_than=first)
    wait_for(acting, "Running")
    shown = virtctl("stop", "web", "--force", "--grace-period", "0", "-o", "json")
    assert shown.tree["spec"]["runStrategy"] == "Halted"
    wait_for(acting, "Stopped")


@pytest.mark.parametrize(
    "command",
    [
        ["create", "instancetype", "--namespaced", "--cpu", "open", "--memory", "open"],
        ["customize", "cx1.medium", "--vcpus", "open", "--memory", "open"],
    ],
    ids=["create", "customize"],
)
def test_vm_sets_the_size_that_its_instancetype_omits(acting: System, virtctl: Virtctl, command: list[str]) -> None:
    name = f"open-{command[0]}"
    tree = virtctl(*command, "--name", name, "-o", "json").tree
    code, answer = acting.request(
        "POST", f"/apis/{tree['apiVersion']}/namespaces/default/virtualmachineinstancetypes", tree
    )
    assert code == 201, answer
    vm = build_vm(name, instancetype={"name": name, "kind": "VirtualMachineInstancetype"})
    refused = acting.request("POST", vms_path(), vm)[1]["message"]
    assert "memory" in refused
    vm["spec"]["template"]["spec"]["domain"] |= {"cpu": {"guest": 3}, "memory": {"guest": "3Gi"}}
    code, answer = acting.request("POST", vms_path(), vm)
    assert code == 201, answer
    domain = virtctl("expand", "--vm", name, "-o", "json").tree["spec"]["template"]["spec"]["domain"]
    assert (domain["cpu"]["sockets"], domain["memory"]["guest"]) == (3, "3Gi")


def add_user(system: System, path: Path, *arguments: str) -> Path:
    result = call_virtshape("user", "add", path.stem, *arguments, "--data-dir", system.directory)
    assert result.returncode == 0, result.stderr
    path.write_text(result.stdout)
    return path


def write_plugin(kubeconfig: Path, path: Path) -> Path:
    """Write a kubeconfig with an exec plugin that prints the token."""
    tree = yaml.safe_load(kubeconfig.read_text())
    token = tree["users"][0]["user"]["token"]
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    tree["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "echo",
            "args": [json.dumps(credential)],
            "interactiveMode": "Never",
        }
    }
    path.write_text(yaml.safe_dump(tree))
    return path


@pytest.mark.parametrize("how", ["certificate", "token", "plugin"])
def test_user_is_identified_by_the_kubeconfig(acting: System, virtctl: Virtctl, tmp_path: Path, how: str) -> None:
    flags = [] if how == "certificate" else ["--token"]
    config = add_user(acting, tmp_path / f"{how}.yaml", "--namespace", "default", "--role", "edit", *flags)
    if how == "plugin":
        config = write_plugin(config, tmp_path / "exec.yaml")
    wait_for(acting, "Stopped")
    assert virtctl("start", "web", "--dry-run", KUBECONFIG=str(config)).err == ""
    assert virtctl("--kubeconfig", str(config), "-n", "default", "start", "web", "--dry-run").status == 0


def test_server_and_token_flags_replace_the_kubeconfig(acting: System, virtctl: Virtctl) -> None:
    wait_for(acting, "Stopped")
    there = ["--server", acting.url, "--token", acting.config["token"]]
    assert "certificate" in virtctl("start", "web", "--dry-run", *there).err
    assert virtctl("start", "web", "--dry-run", *there, "--insecure-skip-tls-verify").status == 0
    known = {"KUBECONFIG": str(acting.kubeconfig)}
    assert 'User "jdoe" cannot update' in virtctl("start", "web", "--dry-run", "--as", "jdoe", **known).err
    assert virtctl("start", "web", "--dry-run", "--as=jdoe", "--as-group=system:masters", **known).status == 0


def test_virtctl_reports_a_missing_permission_and_an_invalid_token(
    acting: System, virtctl: Virtctl, tmp_path: Path
) -> None:
    viewer = add_user(acting, tmp_path / "viewer.yaml", "--namespace", "default", "--role", "view")
    refused = virtctl("start", "web", KUBECONFIG=str(viewer))
    assert refused.status == 1
    assert 'User "viewer" cannot update resource "virtualmachines/start"' in refused.err
    assert refused.err.endswith("Ask an administrator for permission.\n")
    tree = yaml.safe_load(viewer.read_text())
    tree["users"][0]["user"] = {"token": "nonsense"}
    viewer.write_text(yaml.safe_dump(tree))
    unknown = virtctl("start", "web", KUBECONFIG=str(viewer))
    assert unknown == (
        1,
        "",
        "error: Unauthorized\nCheck the user in the kubeconfig: its credentials may have expired.\n",
    )


def test_virtctl_reports_an_unreachable_server(acting: System, virtctl: Virtctl, tmp_path: Path) -> None:
    tree = yaml.safe_load(acting.kubeconfig.read_text())
    tree["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "gone.yaml").write_text(yaml.safe_dump(tree))
    refused = virtctl("start", "web", KUBECONFIG=str(tmp_path / "gone.yaml"))
    assert refused.status == 1
    assert refused.err.startswith("error: cannot connect to https://127.0.0.1:1: ")
    assert "or choose another with --context" in refused.err
    assert virtctl("customize", "u1.medium", "--name", "x", KUBECONFIG=str(tmp_path / "gone.yaml")).err.endswith(
        "--catalog uses the built-in catalog instead.\n"
    )


def test_virtctl_version_shows_client_and_server_versions(virtctl: Virtctl) -> None:
    assert [line.split(":")[0] for line in virtctl("version").out.splitlines()] == ["Client Version", "Server Version"]
    tree = virtctl("version", "-o", "json").tree
    assert tree["clientVersion"]["gitVersion"] == tree["serverVersion"]["gitVersion"]


def test_completion_offers_vm_and_instancetype_names(virtctl: Virtctl) -> None:
    def complete(line: str) -> list[str]:
        asked = {"_VIRTCTL_COMPLETE": "bash_complete", "COMP_WORDS": f"virtctl {line}", "COMP_CWORD": "2"}
        return [line.partition(",")[2] for line in virtctl(**asked).out.splitlines() if line]

    # Completion returns nothing after a short timeout, so the test retries it.
    assert wait_until(lambda: complete("start w"), "no VM is offered") == ["web"]
    assert complete("restart x") == []
    assert "u1.medium" in wait_until(lambda: complete("customize u1.m"), "no instance type is offered")


def test_virtctl_expands_a_stored_vm_with_its_revisions(acting: System, virtctl: Virtctl) -> None:
    wait_for(acting, "Stopped")
    tree = yaml.safe_load(virtctl("expand", "--vm", "web").out)
    assert "instancetype" not in tree["spec"]
    assert "managedFields" not in tree["metadata"]
    assert tree["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "4Gi"}
    origins = {one["field"]: one for one in virtctl("expand", "--vm", "web", "--explain", "-o", "json").tree}
    memory = origins["spec.template.spec.domain.memory.guest"]
    assert (memory["source"], memory["name"]) == ("instance type", "u1.medium")
    assert memory["revision"].startswith("web-u1.medium-")
    assert virtctl("expand", "--vm", "wep").err.startswith('error: VM "wep" not found in namespace default; did you')


def test_virtctl_expands_a_file_with_objects_of_the_server(acting: System, virtctl: Virtctl, tmp_path: Path) -> None:
    code, answer = acting.request(
        "POST",
        "/apis/instancetype.kubevirt.io/v1beta2/namespaces/default/virtualmachineinstancetypes",
        build_instancetype("known-there", memory="3Gi"),
    )
    assert code in (201, 409), answer
    matcher = {"name": "known-there", "kind": "VirtualMachineInstancetype"}
    file = tmp_path / "vm.yaml"
    file.write_text(yaml.safe_dump_all([build_vm("new", instancetype=matcher), build_instancetype("other")]))
    offline = virtctl("expand", "-f", str(file))
    assert '"known-there" not found' in offline.err
    online = virtctl("expand", "-f", str(file), "--from-server")
    assert yaml.safe_load(online.out)["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "3Gi"}
    assert (
        online.err == "warning: 1 objects in the files are not VMs and are ignored: the server uses its own objects\n"
    )
    explained = virtctl("expand", "-f", str(file), "-n", "default", "--explain", "-o", "json").tree
    assert {"instance type", "preference", "VM", "default"} == {one["source"] for one in explained}


CONFIGURATION = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
SIZES = "/apis/instancetype.kubevirt.io/v1beta2/namespaces/default/virtualmachineinstancetypes"


@pytest.mark.parametrize("place", ["Status", "Spec"])
def test_changed_instancetype_is_reported_as_drift_and_updated_on_request_by_an_editor(
    acting: System, virtctl: Virtctl, tmp_path: Path, place: str
) -> None:
    config = str(add_user(acting, tmp_path / f"editor-{place.lower()}", "--namespace", "default", "--role", "edit"))
    settings = {"spec": {"configuration": {"instancetype": {"revisionName": place}}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    assert acting.request("PATCH", CONFIGURATION, settings, **headers)[0] == 200
    assert acting.request("POST", SIZES, build_instancetype("shifting", vcpus=2))[0] == 201
    machine = build_vm("left", instancetype={"name": "shifting", "kind": "VirtualMachineInstancetype"})
    assert acting.request("POST", vms_path(), machine)[0] == 201

    def read_states() -> dict[str, str]:
        reported = json.loads(virtctl("drift", "left", "-o", "json").out)
        return {one["role"]: one["state"] for one in reported}

    same = {"instancetype": "same", "preference": "same"}
    wait_until(lambda: read_states() == same, lambda: f"{read_states()}, not {same}")
    assert virtctl("drift", "-A", "--exit-code").status == 0
    code, size = acting.request("GET", f"{SIZES}/shifting")
    size["spec"]["cpu"]["guest"] = 4
    code, answer = acting.request("PUT", f"{SIZES}/shifting", size)
    assert code == 200, answer
    drifted = virtctl("drift", "--fields", "--exit-code")
    assert (drifted.status, drifted.err) == (1, "")
    changed = [line.split("   ") for line in drifted.out.splitlines() if " changed " in line]
    assert [(line[1].strip(), line[-1].strip()) for line in changed] == [("left", "spec.cpu.guest: 2 -> 4")]
    planned = json.loads(virtctl("upgrade", "left", "--dry-run", "-o", "json", KUBECONFIG=config).out)
    grown = {"field": "spec.domain.cpu.sockets", "then": 2, "now": 4}
    assert [(one["vm"], one["running"], one["changes"]) for one in planned] == [("left", False, [grown])]
    assert read_states() == {"instancetype": "changed", "preference": "same"}
    upgraded = virtctl("upgrade", "left", "-n", "default", KUBECONFIG=config)
    assert (upgraded.status, upgraded.err) == (0, "1 VM upgraded\n")
    wait_until(lambda: read_states() == same, lambda: f"{read_states()}, not {same}")
    assert virtctl("upgrade", "--all").err == "nothing to upgrade: all VMs are current\n"
    assert acting.request("DELETE", f"{SIZES}/shifting")[0] == 200
    assert read_states() == {"instancetype": "gone", "preference": "same"}
    _, vm = acting.request("GET", vms_path("left"))
    assert ("revisionName" in vm["spec"]["instancetype"]) is (place == "Spec")
    assert "virtshape.io/recapture" not in vm["metadata"].get("annotations", {})
    assert acting.request("DELETE", vms_path("left"))[0] == 200
    wait_until(lambda: acting.request("GET", vms_path("left"))[0] == 404, lambda: "the VM still exists")


def test_matrix_and_check_compatibility_agree(acting: System) -> None:
    size = build_instancetype("narrow", vcpus=1, memory="5Gi")
    assert acting.request("POST", SIZES, size)[0] == 201
    preferences = ("fedora", "windows.11")
    named = [argument for name in preferences for argument in ("--preference", name)]
    outcome = call_virtshape(
        "matrix", "--kubeconfig", acting.kubeconfig, "--instancetype", "narrow", *named, "-o", "json"
    )
    body = {
        "instancetypes": [{"name": "narrow", "kind": "VirtualMachineInstancetype"}],
        "preferences": [{"name": name} for name in preferences],
    }
    path = "/apis/subresources.kubevirt.io/v1/namespaces/default/check-compatibility"
    code, answer = acting.request("PUT", path, body)
    assert code == 200, answer
    items = json.loads(outcome.stdout)["items"]
    assert [item["instancetype"].pop("namespace") for item in items] == ["default", "default"]
    assert items == answer["items"]
    assert [item["compatible"] for item in items] == [True, False]


def test_recommend_rewrites_a_vm_of_the_server(acting: System, virtctl: Virtctl) -> None:
    vm = build_vm("plain")
    vm["spec"].pop("instancetype", None)
    vm["spec"]["template"]["spec"]["domain"] |= {"cpu": {"sockets": 4}, "memory": {"guest": "10Gi"}}
    code, answer = acting.request("POST", vms_path(), vm)
    assert code == 201, answer

    def replace() -> bool:
        rewritten = json.loads(virtctl("recommend", "--for-vm", "plain", "--rewrite", "-o", "json").out)
        assert rewritten["spec"]["instancetype"] == {"kind": "VirtualMachineClusterInstancetype", "name": "u1.xlarge"}
        code, answer = acting.request("PUT", vms_path("plain"), rewritten)
        assert code in (200, 409), answer  # the controllers may have changed the VM in the meantime
        return code == 200

    wait_until(replace, "every update of the VM conflicts with another change")
    first, *_ = virtctl("recommend", "--for-vm", "plain", "-o", "name").out.splitlines()
    assert first.endswith("/u1.xlarge")
    assert acting.request("DELETE", vms_path("plain"))[0] == 200


def test_fit_counts_the_vms_that_the_simulated_node_can_still_run(acting: System, virtctl: Virtctl) -> None:
    free = json.loads(virtctl("fit", "u1.8xlarge", "-o", "json").out)["fits"]
    assert 0 < free <= 2**50 // 2**37
    everything = json.loads(virtctl("fit", "-o", "json").out)
    assert {each["name"]: each["fits"] for each in everything}["u1.8xlarge"] == free
    large = build_vm("large", instancetype={"name": "u1.8xlarge"}, runStrategy="Always")
    assert acting.request("POST", vms_path(), large)[0] == 201

    def count() -> int:
        return int(json.loads(virtctl("fit", "--vm", "large", "-o", "json").out)["fits"])

    wait_until(lambda: count() == free - 1, lambda: f"{count()} fit, not {free - 1}")
    assert acting.request("DELETE", vms_path("large"))[0] == 200


def test_recommend_searches_the_server_or_the_catalog(acting: System, virtctl: Virtctl, tmp_path: Path) -> None:
    assert acting.request("POST", SIZES, build_instancetype("odd", vcpus=3, memory="5Gi"))[0] == 201
    command = ("recommend", "--cpu-min", "3", "--memory-min", "5Gi", "--preference", "windows.11", "-o", "name")
    there = virtctl(*command)
    assert there.out.splitlines()[0] == "virtualmachineinstancetype.instancetype.kubevirt.io/odd"
    built_in = virtctl(*command, "--catalog").out.splitlines()
    assert built_in[0].startswith("virtualmachineclusterinstancetype.instancetype.kubevirt.io/")
    nowhere = virtctl(*command, XDG_STATE_HOME=str(tmp_path))
    assert nowhere.out.splitlines() == built_in
    refused = virtctl("recommend", "--cpu-min", "1000")
    assert refused.status == 1
    assert refused.err.startswith("error: no instance type in the server matches; the closest are\n  - ")
