"""Authentication and authorization with kubectl."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.kubectl import Kubectl
from tests.support.manifests import write_manifest
from tests.support.smallmanifests import build_instancetype, build_vm
from tests.support.upprocess import System, call_virtshape, wait_until

from virtshape.apiserver.auth.certificates import Authority, make_key

AddUser = Callable[..., Kubectl]


@pytest.fixture
def add_user(kubectl: Kubectl, system: System, tmp_path: Path) -> AddUser:
    """Return a function that creates a user and returns their kubectl."""

    def add(name: str, *arguments: str) -> Kubectl:
        name = f"{name}-{kubectl.namespace}"
        result = call_virtshape("user", "add", name, *arguments, "--data-dir", system.directory)
        assert result.returncode == 0, result.stderr
        kubeconfig = tmp_path / f"{name}.kubeconfig"
        kubeconfig.write_text(result.stdout)
        return kubectl.using(kubeconfig)

    return add


def test_admin_has_all_permissions(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "vm") == "yes\n"
    assert kubectl("auth", "can-i", "*", "*") == "yes\n"
    assert "*.*" in kubectl("auth", "can-i", "--list")
    if kubectl.version >= (1, 28):
        assert json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]["username"] == "admin"


@pytest.mark.parametrize(
    ("role", "flags", "may", "may_not"),
    [
        (
            "view",
            ["--token"],
            ["get vm", "list vmi", "watch vminstancetype"],
            ["create vm", "delete vm", "get secrets"],
        ),
        ("edit", [], ["get vm", "create vm", "delete vm", "patch dv", "get secrets"], ["create rolebindings"]),
        ("admin", [], ["create vm", "create rolebindings", "create roles"], ["create clusterrolebindings"]),
    ],
    ids=["view with a token", "edit with a certificate", "admin with a certificate"],
)
def test_user_has_the_permissions_of_its_role_in_one_namespace(
    kubectl: Kubectl, add_user: AddUser, role: str, flags: list[str], may: list[str], may_not: list[str]
) -> None:
    user = add_user("bob", "--namespace", kubectl.namespace, "--role", role, *flags)
    assert {question: user.run("auth", "can-i", *question.split()).out for question in may} == dict.fromkeys(
        may, "yes\n"
    )
    assert {question: user.run("auth", "can-i", *question.split()).out for question in may_not} == dict.fromkeys(
        may_not, "no\n"
    )
    assert user.in_namespace("default").run("auth", "can-i", may[0].split()[0], "vm").out == "no\n"


def test_view_and_edit_roles_are_enforced_in_one_namespace(kubectl: Kubectl, add_user: AddUser, tmp_path: Path) -> None:
    kubectl.apply(build_vm())
    viewer = add_user("viewer", "--namespace", kubectl.namespace, "--role", "view")
    editor = add_user("editor", "--namespace", kubectl.namespace, "--role", "edit")
    assert viewer("get", "vm", "-o", "name") == "virtualmachine.kubevirt.io/web\n"
    file = write_manifest(str(tmp_path / "vm.yaml"), build_vm("second"))
    assert 'cannot create resource "virtualmachines"' in viewer.run_rejected("create", "-f", file)
    editor("create", "-f", file)
    editor("delete", "vm", "second")
    elsewhere = editor.in_namespace("default")
    assert "forbidden" in elsewhere.run_rejected("get", "vm")
    assert "forbidden" in elsewhere.run_rejected("get", "vm", "-A")


def test_every_user_may_read_the_catalog_and_nothing_else(add_user: AddUser, tmp_path: Path) -> None:
    guest = add_user("guest")
    assert "u1.medium" in guest("get", "vmclusterinstancetypes")
    assert "forbidden" in guest.run_rejected("get", "vm")
    size = build_instancetype()
    size["kind"] = "VirtualMachineClusterInstancetype"
    assert "forbidden" in guest.run_rejected("create", "-f", write_manifest(str(tmp_path / "size.yaml"), size))
    assert "forbidden" in guest.run_rejected("get", "secrets", "-A")


def test_permissions_of_a_group_apply_to_its_users(kubectl: Kubectl, add_user: AddUser) -> None:
    user = add_user("carol", "--group", "team-a", "--namespace", kubectl.namespace)
    assert "forbidden" in user.run_rejected("get", "vm")
    kubectl("create", "rolebinding", "team", "--clusterrole=view", "--group=team-a")
    user("get", "vm")


def test_user_cannot_grant_permissions_beyond_its_own(kubectl: Kubectl, add_user: AddUser) -> None:
    user = add_user("dan", "--namespace", kubectl.namespace, "--role", "admin")
    user("create", "rolebinding", "fine", "--clusterrole=view", "--user=erin")
    refusal = user.run_rejected("create", "rolebinding", "too-much", "--clusterrole=cluster-admin", "--user=dan")
    assert "attempting to grant RBAC permissions not currently held" in refusal


def test_user_commands_list_and_remove_a_user(system: System, namespace: str) -> None:
    arguments = ("--namespace", namespace, "--role", "view", "--token", "--data-dir", system.directory)
    name = f"frank-{namespace}"
    token = yaml.safe_load(call_virtshape("user", "add", name, *arguments).stdout)["users"][0]["user"]["token"]
    machines = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    assert system.request("GET", machines, Authorization=f"Bearer {token}")[0] == 200
    listed = call_virtshape("user", "list", "-o", "json", "--data-dir", system.directory)
    entry = next(each for each in json.loads(listed.stdout)["users"] if each["name"] == name)
    assert (entry["by"], entry["role"], entry["namespace"]) == ("token", "view", namespace)
    assert len(system.request("GET", bindings)[1]["items"]) == 1
    removed = call_virtshape("user", "rm", name, "--data-dir", system.directory)
    assert removed.returncode == 0, removed.stderr
    assert system.request("GET", bindings)[1]["items"] == []

    def try_again() -> int:
        return system.request("GET", machines, Authorization=f"Bearer {token}")[0]

    assert try_again() in (
        403,
        401,
    )  # the binding is removed immediately; authentication may be cached for some seconds
    wait_until(lambda: try_again() == 401, "the token is still accepted")


def test_service_account_token_is_valid_until_the_account_is_deleted(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "serviceaccount", "robot")
    if kubectl.version < (1, 24):
        assert "unknown" in kubectl.run_rejected("create", "token", "robot"), "older versions do not create tokens"
        return
    kubectl("create", "rolebinding", "robot", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:robot")
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": kubectl("create", "token", "robot", "--duration=10m").strip()}
    robot = kubectl.using(Path(write_manifest(str(tmp_path / "robot.yaml"), config)))
    robot("get", "vm")
    assert "forbidden" in robot.run_rejected("create", "configmap", "c")
    kubectl("delete", "serviceaccount", "robot")
    assert "must be logged in" in robot.run_rejected("get", "vm")


def test_admin_may_impersonate_users(kubectl: Kubectl) -> None:
    kubectl("create", "rolebinding", "grace", "--clusterrole=view", "--user=grace")
    assert kubectl("auth", "can-i", "get", "vm", "--as=grace") == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "vm", "--as=grace").out == "no\n"
    assert "forbidden" in kubectl.run_rejected("create", "configmap", "c", "--as=grace")


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": ""}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic YWRtaW46YWRtaW4="}],
    ids=["anonymous", "unknown token", "password"],
)
def test_unauthenticated_requests_are_rejected(system: System, headers: dict[str, str]) -> None:
    code, answer = system.request("GET", "/apis/kubevirt.io/v1/virtualmachines", **headers)
    assert (code, answer["reason"]) == (401, "Unauthorized")


def test_readyz_needs_no_authentication(system: System) -> None:
    connection = system.connect()
    connection.request("GET", "/readyz")
    assert connection.getresponse().read() == b"ok"
    connection.close()


def test_server_certificate_is_trusted_and_contains_the_local_host_names(system: System) -> None:
    connection = system.connect()
    connection.connect()
    assert isinstance(connection.sock, ssl.SSLSocket)
    assert connection.sock.version() in ("TLSv1.2", "TLSv1.3")
    certificate: Any = connection.sock.getpeercert()
    connection.close()
    names = {value for _, value in certificate["subjectAltName"]}
    assert {"127.0.0.1", "localhost", "kubernetes.default.svc"} <= names


def test_kubectl_without_the_ca_rejects_the_server_certificate(cluster: Kubectl, tmp_path: Path) -> None:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    stranger = cluster.using(Path(write_manifest(str(tmp_path / "stranger.yaml"), config)))
    assert "certificate" in stranger.run_rejected("get", "vm")


def test_client_certificate_of_another_ca_is_rejected(system: System, tmp_path: Path) -> None:
    stranger = Authority.create(make_key(), "stranger").issue_client("admin", ["system:masters"])
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    key.write_bytes(stranger.key)
    certificate.write_bytes(stranger.certificate)
    tls = system.make_tls_context()
    tls.load_cert_chain(certificate, key)
    with contextlib.closing(system.connect(tls)) as connection, pytest.raises((ssl.SSLError, ConnectionError)):
        _request_vms(connection)


def _request_vms(connection: http.client.HTTPSConnection) -> bytes:
    connection.request("GET", "/apis/kubevirt.io/v1/virtualmachines")
    return connection.getresponse().read()


def test_audit_log_contains_writes_without_their_content(kubectl: Kubectl, system: System) -> None:
    kubectl("create", "secret", "generic", "s", "--from-literal=password=hunter2")
    line = next(each for each in reversed(system.read_audit_log()) if each.get("namespace") == kubectl.namespace)
    assert (line["user"], line["verb"], line["resource"], line["code"]) == ("admin", "create", "secrets", 201)
    log = (system.directory / "audit.log").read_text()
    assert "hunter2" not in log
    assert "aHVudGVyMg" not in log
