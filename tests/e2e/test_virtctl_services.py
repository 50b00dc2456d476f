"""virtctl expose, credentials, permitted-devices and adm: our virtctl and KubeVirt's write the same objects."""

from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.kubevirt import find_program
from tests.support.smallmanifests import build_vm
from tests.support.upprocess import System
from tests.support.virtctl import PROGRAM, Virtctl

from virtshape.api.model import JsonObject

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOne"
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAITwo jdoe@example"
PORTS = [{"port": 80}, {"port": 53, "protocol": "UDP"}]
WARNING = "this server stores Services but routes no traffic to them: use virtctl port-forward instead"


class NamespacedVirtctl(Virtctl):
    """Runs virtctl in the namespace of the test, and creates and reads objects there."""

    def __init__(self, program: Path, system: System, namespace: str, home: Path) -> None:
        super().__init__(system.kubeconfig, home, namespace, program)
        self.system = system

    def succeed(self, *arguments: str, stdin: str = "") -> str:
        result = self(*arguments, stdin=stdin)
        assert result.status == 0, result.err
        return result.out

    def create(self, resource: str, tree: JsonObject) -> JsonObject:
        root = "/apis/kubevirt.io/v1" if resource.startswith("virtualmachine") else "/api/v1"
        code, answer = self.system.request("POST", f"{root}/namespaces/{self.namespace}/{resource}", tree)
        assert code == 201, answer
        created: JsonObject = answer
        return created

    def get(self, resource: str, name: str) -> Any:
        root = "/apis/kubevirt.io/v1" if resource.startswith("virtualmachine") else "/api/v1"
        return self.system.request("GET", f"{root}/namespaces/{self.namespace}/{resource}/{name}")[1]

    def read_secret(self, name: str) -> dict[str, str]:
        return {key: b64decode(value).decode() for key, value in (self.get("secrets", name).get("data") or {}).items()}

    def list_credentials(self, vm: str = "web") -> Any:
        return self.get("virtualmachines", vm)["spec"]["template"]["spec"].get("accessCredentials")


Program = Callable[[str], NamespacedVirtctl]


@pytest.fixture
def program(system: System, namespace: str, tmp_path: Path) -> Program:
    def get(name: str) -> NamespacedVirtctl:
        path = PROGRAM if name == "virtshape" else find_program("virtctl")
        return NamespacedVirtctl(path, system, namespace, tmp_path)

    return get


@pytest.fixture
def virtctl(program: Program) -> NamespacedVirtctl:
    """Our virtctl."""
    return program("virtshape")


@pytest.fixture(params=["virtshape", "kubevirt"])
def each_virtctl(program: Program, request: pytest.FixtureRequest) -> NamespacedVirtctl:
    """Our virtctl, then KubeVirt's."""
    return program(request.param)


def build_listed_ports() -> JsonObject:
    vm = build_vm()
    interface = {"name": "main", "masquerade": {}, "ports": PORTS}
    spec = vm["spec"]["template"]["spec"]
    spec["domain"]["devices"]["interfaces"] = [{"name": "other", "bridge": {}, "ports": [{"port": 1}]}, interface]
    networks = [{"name": "other", "multus": {"networkName": "lan"}}, {"name": "main", "pod": {}}]
    return {**vm, "spec": {**vm["spec"], "template": {"spec": {**spec, "networks": networks}}}}


SERVICES = {
    "port": ["--port=80"],
    "all flags": [
        *("--port=80", "--target-port=8080", "--port-name=http", "--protocol=UDP", "--type=NodePort"),
        "--external-ip=192.0.2.1",
    ],
    "named target port": ["--port=80", "--target-port=http"],
    "headless": ["--port=80", "--cluster-ip=None"],
    "two families": ["--port=80", "--ip-family=ipv6,ipv4"],
    "one family": ["--port=80", "--ip-family=IPv4", "--ip-family-policy=singlestack"],
    "listed ports": [],
}


@pytest.mark.parametrize("flags", SERVICES.values(), ids=SERVICES)
def test_expose_creates_the_same_service_as_kubevirt(program: Program, flags: list[str]) -> None:
    ours, theirs = program("virtshape"), program("kubevirt")
    ours.create("virtualmachines", build_listed_ports())
    assert ours("expose", "vm", "web", "--name", "ours", *flags) == (
        0,
        "Service ours successfully created for vm web\n",
        f"warning: {WARNING}\n",
    )
    assert theirs.succeed("expose", "vm", "web", "--name", "theirs", *flags)
    specs = [ours.get("services", name)["spec"] for name in ("ours", "theirs")]
    assert normalize(specs[0]) == normalize(specs[1])
    assert specs[0]["selector"] == {"vmi.kubevirt.io/id": "web"}


def normalize(spec: JsonObject) -> JsonObject:
    """Return the spec of a Service without the zero values that Go clients write."""
    ports = [{key: value for key, value in port.items() if value} for port in spec["ports"]]
    return {**spec, "ports": ports}


def test_service_selector_of_a_long_vm_name_is_shortened_as_in_kubevirt(program: Program) -> None:
    name = f"{'n' * 60}.{'m' * 60}"
    ours, theirs = program("virtshape"), program("kubevirt")
    ours.create("virtualmachines", build_vm(name))
    for virtctl, service in ((ours, "ours"), (theirs, "theirs")):
        virtctl.succeed("expose", "virtualmachine", name, "--name", service, "--port", "80")
    selectors = [ours.get("services", service)["spec"]["selector"] for service in ("ours", "theirs")]
    assert selectors[0] == selectors[1]


def test_expose_with_dry_run_prints_the_service(virtctl: NamespacedVirtctl) -> None:
    virtctl.create("virtualmachines", build_vm())
    shown = virtctl("expose", "vm", "web", "--name", "web", "--port", "80", "--dry-run", "-o", "json").tree
    assert shown["spec"]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert virtctl.get("services", "web")["code"] == 404
    assert virtctl.succeed("expose", "vm", "web", "--name", "web", "--port", "80", "-o", "name") == "service/web\n"


EXPOSE_ERRORS = {
    "no ports": (["vm", "web"], 1, "couldn't find port via --port flag or introspection"),
    "unknown VM": (["vm", "wbe", "--port=80"], 1, 'VM "wbe" not found in namespace'),
    "no instance": (["vmi", "web", "--port=80"], 1, "VM web is not running"),
    "replica set": (["vmirs", "web", "--port=80"], 1, "the server has no replica sets of instances"),
    "unknown kind": (["pod", "web", "--port=80"], 2, "unsupported resource type: pod"),
    "unknown protocol": (["vm", "web", "--port=80", "--protocol=SCTP"], 2, 'unknown value "SCTP"'),
}


@pytest.mark.parametrize(("arguments", "status", "message"), EXPOSE_ERRORS.values(), ids=EXPOSE_ERRORS)
def test_invalid_expose_command_is_rejected_with_the_reason(
    virtctl: NamespacedVirtctl, arguments: list[str], status: int, message: str
) -> None:
    virtctl.create("virtualmachines", build_vm())
    refused = virtctl("expose", *arguments, "--name", "web")
    assert (refused.status, message in refused.err) == (status, True), refused.err


def test_virtctl_adds_and_removes_ssh_keys(each_virtctl: NamespacedVirtctl, tmp_path: Path) -> None:
    virtctl = each_virtctl
    vm = virtctl.create("virtualmachines", build_vm())
    (tmp_path / "key.pub").write_text(f"{OTHER_KEY}\n")
    virtctl.succeed("credentials", "add-ssh-key", "web", "--user", "jdoe", "--value", KEY)
    (credential,) = virtctl.list_credentials()
    secret = credential["sshPublicKey"]["source"]["secret"]["secretName"]
    assert credential["sshPublicKey"]["propagationMethod"] == {"qemuGuestAgent": {"users": ["jdoe"]}}
    owners = [
        (owner["kind"], owner["uid"], owner["controller"])
        for owner in virtctl.get("secrets", secret)["metadata"]["ownerReferences"]
    ]
    assert owners == [("VirtualMachine", vm["metadata"]["uid"], True)]
    virtctl.succeed("credentials", "add-ssh-key", "web", "-u", "jdoe", "-f", str(tmp_path / "key.pub"))
    assert sorted(text.strip() for text in virtctl.read_secret(secret).values()) == [KEY, OTHER_KEY]
    again = virtctl.succeed("credentials", "add-ssh-key", "web", "--user", "jdoe", "--value", KEY)
    assert again.strip() == f'Secret "{secret}" already contains this SSH key.'
    virtctl.succeed("credentials", "remove-ssh-key", "web", "--user", "jdoe", "--value", KEY)
    assert [text.strip() for text in virtctl.read_secret(secret).values()] == [OTHER_KEY]


def test_ssh_keys_of_different_guest_users_are_separate_access_credentials(each_virtctl: NamespacedVirtctl) -> None:
    virtctl = each_virtctl
    virtctl.create("virtualmachines", build_vm())
    for user in ("jdoe", "root"):
        virtctl.succeed("credentials", "add-ssh-key", "web", "--user", user, "--value", KEY)
    users = [one["sshPublicKey"]["propagationMethod"]["qemuGuestAgent"]["users"] for one in virtctl.list_credentials()]
    assert users == [["jdoe"], ["root"]]


def build_password_vm(*secrets: str) -> JsonObject:
    vm = build_vm()
    vm["spec"]["template"]["spec"]["accessCredentials"] = [
        {
            "userPassword": {
                "source": {"secret": {"secretName": secret}},
                "propagationMethod": {"qemuGuestAgent": {}},
            }
        }
        for secret in secrets
    ]
    return vm


def build_secret(name: str, **texts: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": texts}


def test_virtctl_sets_a_password_in_the_secret_of_the_vm(each_virtctl: NamespacedVirtctl) -> None:
    virtctl = each_virtctl
    virtctl.create("secrets", build_secret("logins"))
    virtctl.create("virtualmachines", build_password_vm("logins"))
    arguments = ("credentials", "set-password", "web", "--user", "jdoe", "--password", "s3cret")
    refused = virtctl(*arguments)
    assert refused.status == 1
    assert "secret logins does not have an owner reference pointing to VM web" in refused.err
    assert virtctl.succeed(*arguments, "--force").strip() == 'Successfully set password in secret "logins"'
    assert virtctl.read_secret("logins") == {"jdoe": "s3cret"}


def test_virtctl_reads_a_password_from_standard_input(virtctl: NamespacedVirtctl) -> None:
    virtctl.create("secrets", build_secret("logins", root="old"))
    virtctl.create("virtualmachines", build_password_vm("logins", "more"))
    arguments = ("credentials", "set-password", "web", "--user", "jdoe", "--password-file", "-", "--force")
    assert "multiple secrets specified, use option --secret" in virtctl(*arguments, stdin="new\n").err
    virtctl.succeed(*arguments, "--secret", "logins", stdin="new\n")
    assert virtctl.read_secret("logins") == {"root": "old", "jdoe": "new"}


CREDENTIAL_ERRORS = {
    "unknown VM": (["add-ssh-key", "wbe", "--user=jdoe", f"--value={KEY}"], 1, 'VM "wbe" not found'),
    "no secret to update": (
        ["add-ssh-key", "web", "--user=jdoe", f"--value={KEY}", "--update-secret"],
        1,
        "no secrets specified for user: jdoe",
    ),
    "no password secret": (
        ["set-password", "web", "--user=jdoe", "--password=x"],
        1,
        "no secrets assigned to UserPassword AccessCredentials",
    ),
}


@pytest.mark.parametrize(("arguments", "status", "message"), CREDENTIAL_ERRORS.values(), ids=CREDENTIAL_ERRORS)
def test_invalid_credentials_command_is_rejected_with_the_reason(
    virtctl: NamespacedVirtctl, arguments: list[str], status: int, message: str
) -> None:
    virtctl.create("virtualmachines", build_vm())
    refused = virtctl("credentials", *arguments)
    assert (refused.status, message in refused.err) == (status, True), refused.err
    assert virtctl.list_credentials() is None


def test_new_credentials_secret_for_a_running_vm_requires_force(each_virtctl: NamespacedVirtctl) -> None:
    virtctl = each_virtctl
    virtctl.create("virtualmachines", build_vm())
    virtctl.create("virtualmachineinstances", build_instance())
    arguments = ("credentials", "add-ssh-key", "web", "--user", "jdoe", "--value", KEY)
    refused = virtctl(*arguments)
    assert (refused.status, "virtual machine web is running" in refused.err) == (1, True), refused.err
    virtctl.succeed(*arguments, "--force")
    assert len(virtctl.list_credentials()) == 1


def build_instance() -> JsonObject:
    domain = {"devices": {}, "memory": {"guest": "64Mi"}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "web"},
        "spec": {"domain": domain, "nodeSelector": {"kubernetes.io/hostname": "elsewhere"}},
    }


def test_ssh_key_in_a_secret_of_another_owner_is_removed_only_with_force(each_virtctl: NamespacedVirtctl) -> None:
    virtctl = each_virtctl
    virtctl.create("secrets", build_secret("keys", a=f"{KEY} first\n{OTHER_KEY}", b=KEY))
    vm = build_vm()
    method = {"qemuGuestAgent": {"users": ["jdoe"]}}
    source = {"secret": {"secretName": "keys"}}
    vm["spec"]["template"]["spec"]["accessCredentials"] = [
        {"sshPublicKey": {"source": source, "propagationMethod": method}}
    ]
    virtctl.create("virtualmachines", vm)
    arguments = ("credentials", "remove-ssh-key", "web", "--user", "jdoe", "--value", KEY)
    assert "secret keys does not have an owner reference pointing to VM web" in virtctl(*arguments).err
    virtctl.succeed(*arguments, "--force")
    assert virtctl.read_secret("keys") == {"a": OTHER_KEY}


def test_virtctl_lists_permitted_devices(system: System, program: Program) -> None:
    path = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
    devices = {
        "pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": "example.com/nic"}],
        "mediatedDevices": [{"mdevNameSelector": "GRID T4-1Q", "resourceName": "example.com/gpu"}],
    }
    patch = {"spec": {"configuration": {"permittedHostDevices": devices}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    assert system.request("PATCH", path, patch, **headers)[0] == 200
    ours, theirs = program("virtshape"), program("kubevirt")
    printed = ours.succeed("permitted-devices")
    assert printed == theirs.succeed("permitted-devices", "-n", "kubevirt")
    assert "example.com/nic" in printed
    expected = {"hostDevices": ["example.com/nic"], "gpuDevices": ["example.com/gpu"], "usbDevices": []}
    assert ours("permitted-devices", "-o", "json").tree == expected
    removal = {"spec": {"configuration": {"permittedHostDevices": None}}}
    assert system.request("PATCH", path, removal, **headers)[0] == 200


def test_virtctl_sets_shows_and_resets_log_verbosity(program: Program) -> None:
    ours, theirs = program("virtshape"), program("kubevirt")
    for first, second in ((ours, theirs), (theirs, ours)):
        printed = first.succeed("adm", "log-verbosity", "--all=3", "--virt-api=5")
        assert printed == "successfully set/reset the log verbosity\n"
        shown = first.succeed("adm", "log-verbosity", "--all")
        assert shown == second.succeed("adm", "log-verbosity", "--all")
        assert shown.splitlines()[:2] == ["virt-api=5", "virt-controller=3"]
        first.succeed("adm", "log-verbosity", "--reset")
        assert first.succeed("adm", "log-verbosity", "--virt-api") == "virt-api=2\n"
