"""Authentication, authorization and the audit log over HTTP."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.objects import NamespacePaths, build_instancetype
from tests.support.loopback import TIMEOUT, Client, LoopbackServer, Response

from virtshape.api.model import JsonObject

RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def wait_for(probe: Callable[[], Any]) -> Any:
    """Poll until `probe` returns a value, and return it."""
    deadline = time.monotonic() + TIMEOUT
    while not (found := probe()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def grant(
    client: Client, paths: NamespacePaths, *rules: JsonObject, subject: JsonObject, name: str = "granted"
) -> None:
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": name}, "rules": list(rules)}
    reference = {"apiGroup": group, "kind": "Role", "name": name}
    binding = {**role, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}
    del binding["rules"]
    assert client.post(f"{RBAC}/namespaces/{paths.namespace}/roles", role).status == 201
    assert client.post(f"{RBAC}/namespaces/{paths.namespace}/rolebindings", binding).status == 201


def rule(verbs: str, resources: str, group: str = "", **rest: Any) -> JsonObject:
    return {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group], **rest}


def acting(server: LoopbackServer, user: str, *groups: str) -> Client:
    """Return a client of the admin that impersonates a user with at most one group."""
    client = server.connect()
    client.headers |= {"Impersonate-User": user}
    if groups:
        client.headers |= {"Impersonate-Group": groups[0]}
    return client


@pytest.fixture
def bob(server: LoopbackServer) -> Iterator[Client]:
    """A user without any role."""
    client = acting(server, "bob")
    yield client
    client.close()


def request_token(client: Client, paths: NamespacePaths, account: str = "default", **spec: Any) -> Response:
    path = f"{paths.core('serviceaccounts', account)}/token"
    return client.post(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})


def get_user(client: Client) -> JsonObject:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    info: JsonObject = client.post(f"{AUTHENTICATION}/selfsubjectreviews", review).tree["status"]["userInfo"]
    return info


def wait_for_account(client: Client, paths: NamespacePaths) -> None:
    assert wait_for(lambda: client.get(paths.core("serviceaccounts", "default")).status == 200)


def test_unknown_fields_of_a_review_cause_warnings(client: Client) -> None:
    attributes = {"verb": "get", "resource": "pods", "resorce": "pods"}
    review = {"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}, "extra": 1}
    reply = client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (reply.status, reply.tree["status"]["allowed"]) == (201, True)
    assert sorted(reply.warnings) == [
        'unknown field \\"extra\\"',
        'unknown field \\"spec.resourceAttributes.resorce\\"',
    ]


OPEN = ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version"]
CLOSED = ["/", "/api", "/apis", "/openapi/v2", "/api/v1/namespaces", "/nope"]


@pytest.mark.parametrize("path", [*OPEN, *CLOSED])
@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic YTpi", "Bearer a.b.c"])
def test_anonymous_user_reads_only_health_and_version(server: LoopbackServer, path: str, authorization: str) -> None:
    client = server.connect()
    client.headers.pop("Authorization")
    if authorization:
        client.headers["Authorization"] = authorization
    reply = client.get(path)
    client.close()
    if path in OPEN:
        assert reply.status == 200
    else:
        assert reply.reason == (401, "Unauthorized")


def test_forbidden_response_names_the_missing_permission(bob: Client, paths: NamespacePaths) -> None:
    reply = bob.get(paths.vms())
    assert reply.reason == (403, "Forbidden")
    assert reply.tree["message"] == (
        'virtualmachines.kubevirt.io is forbidden: User "bob" cannot list resource "virtualmachines" '
        f'in API group "kubevirt.io" in the namespace "{paths.namespace}"'
    )
    assert reply.tree["details"] == {"group": "kubevirt.io", "kind": "virtualmachines"}


def test_every_user_may_discover_the_api_and_read_the_catalog(bob: Client) -> None:
    assert bob.get("/apis").status == 200
    assert bob.get("/openapi/v3").status == 200
    assert bob.get("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes").status == 200


def test_role_binding_grants_access_only_in_its_namespace(client: Client, bob: Client, paths: NamespacePaths) -> None:
    grant(client, paths, rule("get list create", "configmaps"), subject={"kind": "User", "name": "bob"})
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert bob.post(paths.core("configmaps"), item).status == 201
    assert bob.get(paths.core("configmaps")).status == 200
    assert bob.delete(paths.core("configmaps", "a")).reason == (403, "Forbidden")
    assert bob.get("/api/v1/configmaps").reason == (403, "Forbidden")
    assert bob.get("/api/v1/namespaces/default/configmaps").reason == (403, "Forbidden")


def test_role_in_a_namespace_can_grant_access_to_the_namespace_object(
    client: Client, bob: Client, paths: NamespacePaths
) -> None:
    grant(client, paths, rule("get", "namespaces"), subject={"kind": "User", "name": "bob"})
    assert bob.get(f"/api/v1/namespaces/{paths.namespace}").status == 200
    assert bob.get("/api/v1/namespaces/default").reason == (403, "Forbidden")
    assert bob.get("/api/v1/namespaces").reason == (403, "Forbidden")


def test_permission_for_one_object_allows_list_and_watch_with_its_name_selector(
    client: Client, bob: Client, paths: NamespacePaths
) -> None:
    permitted = rule("get list watch", "configmaps", resourceNames=["a"])
    grant(client, paths, permitted, subject={"kind": "User", "name": "bob"})
    path = paths.core("configmaps")
    assert bob.get(path, fieldSelector="metadata.name=a").status == 200
    assert bob.get(path, fieldSelector="metadata.name=b").reason == (403, "Forbidden")
    assert bob.get(path, fieldSelector="metadata.name!=a").reason == (403, "Forbidden")
    assert bob.get(path).reason == (403, "Forbidden")
    with bob.watch(path, fieldSelector="metadata.name=a") as events:
        assert events.response.status == 200


def test_subresources_require_separate_permissions(client: Client, bob: Client, paths: NamespacePaths) -> None:
    grant(client, paths, rule("get update patch", "serviceaccounts"), subject={"kind": "User", "name": "bob"})
    wait_for_account(client, paths)
    assert request_token(bob, paths).reason == (403, "Forbidden")


ROLES: dict[str, tuple[str, dict[str, int]]] = {
    "view": ("kubevirt.io:view", {"GET": 200, "POST": 403, "DELETE": 403}),
    "edit": ("kubevirt.io:edit", {"GET": 200, "POST": 201, "DELETE": 403}),
    "admin": ("kubevirt.io:admin", {"GET": 200, "POST": 201, "DELETE": 200}),
}


@pytest.mark.parametrize(("role", "codes"), ROLES.values(), ids=ROLES.keys())
def test_built_in_role_allows_only_its_requests(
    client: Client, bob: Client, paths: NamespacePaths, role: str, codes: dict[str, int]
) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": "bob"}],
    }
    assert client.post(f"{RBAC}/namespaces/{paths.namespace}/rolebindings", binding).status == 201
    path = paths.instancetypes()
    found = {
        "GET": bob.get(path).status,
        "POST": bob.post(path, build_instancetype()).status,
        "DELETE": bob.delete(path).status,  # deletes all instance types of the namespace
    }
    assert found == codes


def test_admin_can_impersonate_a_user(server: LoopbackServer, client: Client, bob: Client) -> None:
    everyone = "system:authenticated"
    assert get_user(bob) == {"username": "bob", "groups": [everyone]}
    ops = acting(server, "eve", "ops, dev")
    assert get_user(ops) == {"username": "eve", "groups": ["ops, dev", everyone]}
    ops.close()
    robot = acting(server, "system:serviceaccount:prod:robot")
    accounts = ["system:serviceaccounts", "system:serviceaccounts:prod", everyone]
    assert get_user(robot) == {"username": "system:serviceaccount:prod:robot", "groups": accounts}
    robot.close()
    assert client.send("GET", "/api", headers={"Impersonate-Group": "ops"}).status == 400


def test_service_account_token_cannot_impersonate(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    wait_for_account(client, paths)
    account = Client(server.port, request_token(client, paths).tree["status"]["token"])
    reply = account.send("GET", "/api", headers={"Impersonate-User": "admin"})
    account.close()
    assert reply.reason == (403, "Forbidden")
    assert 'cannot impersonate resource "users"' in reply.tree["message"]


def test_service_account_token_authenticates_its_account(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    wait_for_account(client, paths)
    reply = request_token(client, paths, expirationSeconds=600, audiences=None)
    assert reply.status == 201
    assert reply.tree["spec"]["expirationSeconds"] == 600
    account = Client(server.port, reply.tree["status"]["token"])
    grant(
        client,
        paths,
        rule("get", "configmaps"),
        subject={"kind": "ServiceAccount", "name": "default", "namespace": paths.namespace},
    )
    assert get_user(account)["username"] == f"system:serviceaccount:{paths.namespace}:default"
    assert account.get(paths.core("configmaps", "nope")).status == 404
    assert account.get(paths.core("secrets", "nope")).status == 403
    client.delete(paths.core("serviceaccounts", "default"))
    assert account.get(paths.core("configmaps", "nope")).reason == (401, "Unauthorized")
    account.close()


REFUSED_TOKENS: dict[str, tuple[str, JsonObject, tuple[int, str]]] = {
    "too short": ("default", {"expirationSeconds": 5}, (422, "Invalid")),
    "missing service account": ("nobody", {}, (404, "NotFound")),
    "bound to a missing object": ("default", {"boundObjectRef": {"kind": "Pod", "name": "x"}}, (404, "NotFound")),
}


@pytest.mark.parametrize(("account", "spec", "reason"), REFUSED_TOKENS.values(), ids=REFUSED_TOKENS.keys())
def test_invalid_token_requests_are_rejected(
    client: Client, paths: NamespacePaths, account: str, spec: JsonObject, reason: tuple[int, str]
) -> None:
    wait_for_account(client, paths)
    assert request_token(client, paths, account, **spec).reason == reason


def test_token_subresource_of_a_service_account_cannot_be_read(client: Client, paths: NamespacePaths) -> None:
    wait_for_account(client, paths)
    path = f"{paths.core('serviceaccounts', 'default')}/token"
    assert client.get(path).reason == (405, "MethodNotAllowed")


def test_default_service_account_is_created_and_recreated(client: Client, paths: NamespacePaths) -> None:
    wait_for_account(client, paths)
    for namespace in ("default", "kube-system", "kubevirt"):
        assert client.get(NamespacePaths(namespace).core("serviceaccounts", "default")).status == 200
    first = client.get(paths.core("serviceaccounts", "default")).tree["metadata"]["uid"]
    client.delete(paths.core("serviceaccounts", "default"))
    wait_for_account(client, paths)
    assert client.get(paths.core("serviceaccounts", "default")).tree["metadata"]["uid"] != first


def test_user_cannot_grant_permissions_it_does_not_have(client: Client, bob: Client, paths: NamespacePaths) -> None:
    grant(
        client,
        paths,
        rule("create", "roles rolebindings", "rbac.authorization.k8s.io"),
        rule("get", "configmaps"),
        subject={"kind": "User", "name": "bob"},
    )
    path = f"{RBAC}/namespaces/{paths.namespace}"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "mine"}}
    assert bob.post(f"{path}/roles", {**role, "rules": [rule("get", "configmaps")]}).status == 201
    more = {**role, "metadata": {"name": "more"}, "rules": [rule("*", "*")]}
    reply = bob.post(f"{path}/roles", more)
    assert reply.reason == (403, "Forbidden")
    assert "attempting to grant RBAC permissions not currently held" in reply.tree["message"]
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "bob"}],
    }
    assert bob.post(f"{path}/rolebindings", binding).reason == (403, "Forbidden")


def test_invalid_role_is_rejected_with_all_errors(client: Client, paths: NamespacePaths) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "bad"}}
    reply = client.post(f"{RBAC}/namespaces/{paths.namespace}/roles", {**role, "rules": [{"verbs": []}]})
    assert reply.reason == (422, "Invalid")
    fields = [cause["field"] for cause in reply.tree["details"]["causes"]]
    assert fields == ["rules[0].verbs", "rules[0].apiGroups", "rules[0].resources"]


def test_aggregated_role_is_served_with_its_rules(client: Client) -> None:
    group = "rbac.authorization.k8s.io/v1"
    selector = {"matchLabels": {"gathered": "yes"}}
    base = {"apiVersion": group, "kind": "ClusterRole"}
    part = {**base, "metadata": {"name": "part", "labels": {"gathered": "yes"}}, "rules": [rule("get", "pods")]}
    document = {**base, "metadata": {"name": "whole"}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    assert client.post(f"{RBAC}/clusterroles", document).status == 201
    assert client.post(f"{RBAC}/clusterroles", part).status == 201

    def has(rules: list[JsonObject] | None) -> Callable[[], bool]:
        return lambda: client.get(f"{RBAC}/clusterroles/whole").tree.get("rules") == rules

    assert wait_for(has([rule("get", "pods")]))
    client.patch(f"{RBAC}/clusterroles/part", {"rules": [rule("list", "pods")]})
    assert wait_for(has([rule("list", "pods")]))
    client.delete(f"{RBAC}/clusterroles/part")
    assert wait_for(has([]))
    view = client.get(f"{RBAC}/clusterroles/view").tree
    assert any("virtualmachines" in entry.get("resources", ()) for entry in view["rules"])


def may(client: Client, **attributes: str) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
        "status": {"allowed": False},
    }
    reply = client.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", review)
    assert reply.status == 201
    allowed: bool = reply.tree["status"]["allowed"]
    return allowed


@pytest.mark.parametrize(
    ("question", "body", "refusal", "details"),
    [
        pytest.param("selfsubjectaccessreviews", {}, (422, "Invalid"), {"group", "causes"}, id="no attributes"),
        pytest.param("selfsubjectrulesreviews", {"spec": None}, (400, "BadRequest"), set(), id="no spec"),
        pytest.param("selfsubjectaccessreviews", {"kind": "Other"}, (400, "BadRequest"), set(), id="other kind"),
        pytest.param("selfsubjectaccessreviews", {"spec": 5}, (400, "BadRequest"), set(), id="spec of a wrong type"),
    ],
)
def test_invalid_access_reviews_are_rejected(
    client: Client, question: str, body: JsonObject, refusal: tuple[int, str], details: set[str]
) -> None:
    reply = client.post(f"{AUTHORIZATION}/{question}", body)
    assert (reply.reason, reply.tree.get("details", {}).keys()) == (refusal, details)


def test_access_review_responses_have_metadata(client: Client) -> None:
    question = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert client.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", question).tree["metadata"] == {}
    assert client.post(f"{AUTHENTICATION}/selfsubjectreviews", {}).tree["metadata"].keys() == {"creationTimestamp"}


def test_self_subject_review_reports_own_permissions(client: Client, bob: Client, paths: NamespacePaths) -> None:
    grant(client, paths, rule("get", "configmaps"), subject={"kind": "User", "name": "bob"})
    assert may(bob, verb="get", resource="configmaps", namespace=paths.namespace)
    assert not may(bob, verb="delete", resource="configmaps", namespace=paths.namespace)
    assert may(client, verb="delete", resource="configmaps", namespace=paths.namespace)
    review = {"spec": {"namespace": paths.namespace}, "status": {"resourceRules": None, "nonResourceRules": None}}
    about = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    listed = bob.post(f"{AUTHORIZATION}/selfsubjectrulesreviews", {**about, **review}).tree["status"]
    assert rule("get", "configmaps") in listed["resourceRules"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"kind": "SelfSubjectAccessReview"}'])
def test_malformed_access_review_is_rejected(client: Client, body: bytes) -> None:
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    assert client.send("POST", path, body).status in (400, 422)


def test_crds_of_our_kinds_can_be_read(client: Client) -> None:
    listed = client.get(DEFINITIONS).tree
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == sorted(names)
    assert "virtualmachines.kubevirt.io" in names
    one = client.get(f"{DEFINITIONS}/virtualmachines.kubevirt.io").tree
    assert {key: value for key, value in one.items() if key not in ("apiVersion", "kind")} in listed["items"]
    assert one["metadata"]["resourceVersion"] == "1"
    assert {entry["type"]: entry["status"] for entry in one["status"]["conditions"]}["Established"] == "True"
    assert client.get(f"{DEFINITIONS}/nope.example.com").reason == (404, "NotFound")


def test_list_of_crds_supports_paging_selection_by_name_and_tables(client: Client) -> None:
    first = client.get(DEFINITIONS, limit=3).tree
    rest = client.get(DEFINITIONS, **{"continue": first["metadata"]["continue"]}).tree
    count = len(client.get(DEFINITIONS).tree["items"])
    assert (len(first["items"]), len(first["items"] + rest["items"])) == (3, count)
    chosen = client.get(DEFINITIONS, fieldSelector="metadata.name=virtualmachines.kubevirt.io").tree
    assert len(chosen["items"]) == 1
    table = client.get(DEFINITIONS, accept=TABLE).tree
    assert (table["kind"], len(table["rows"])) == ("Table", count)


def test_watch_of_crds_sends_no_changes(client: Client) -> None:
    count = len(client.get(DEFINITIONS).tree["items"])
    with client.watch(DEFINITIONS, seconds=1) as events:
        assert [event["type"] for event in events] == ["ADDED"] * count


def test_crds_cannot_be_written(client: Client) -> None:
    path = f"{DEFINITIONS}/virtualmachines.kubevirt.io"
    assert client.delete(path).reason == (405, "MethodNotAllowed")
    assert client.patch(path, {}).reason == (405, "MethodNotAllowed")
    assert client.post(DEFINITIONS, {}).reason == (405, "MethodNotAllowed")


def find_audit(server: LoopbackServer) -> Path:
    return server.system.directory.kubeconfig.with_name("audit.log")


def read_audit(server: LoopbackServer, user: str) -> list[JsonObject]:
    lines = [json.loads(line) for line in find_audit(server).read_text().splitlines()]
    return [line for line in lines if line["user"] == user]


def test_audit_log_contains_writes_but_not_reads(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
    user = f"writer-{paths.namespace}"
    writer = acting(server, user)
    grant(client, paths, rule("create get", "configmaps"), subject={"kind": "User", "name": user})
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}, "data": {"secret": "s3cr3t"}}
    name = writer.post(paths.core("configmaps"), item).tree["metadata"]["name"]
    writer.get(paths.core("configmaps", name))
    writer.delete(paths.core("configmaps", name))
    may(writer, verb="get", resource="pods")
    writer.close()
    created, deleted = read_audit(server, user)
    expected = {"impersonatedBy": "admin", "resource": "configmaps", "namespace": paths.namespace, "name": name}
    assert created.items() >= {**expected, "verb": "create", "code": 201, "userAgent": "tester/1.0"}.items()
    assert deleted.items() >= {**expected, "verb": "delete", "code": 403, "reason": "Forbidden"}.items()
    assert "s3cr3t" not in find_audit(server).read_text()


def test_kubevirt_object_exists_after_startup(client: Client) -> None:
    kubevirt = client.get("/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt").tree
    assert kubevirt["spec"] == {"configuration": {}}
    assert kubevirt["status"]["phase"] == "Deployed"


def test_protobuf_is_accepted_for_core_kinds_only(client: Client, paths: NamespacePaths) -> None:
    body = bytes.fromhex("6b3873000a0f0a0276311209436f6e6669674d617012050a030a01611a002200")
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    reply = client.send("POST", paths.core("configmaps"), body, headers=headers)
    assert (reply.status, reply.tree["metadata"]["name"]) == (201, "a")
    assert client.send("POST", paths.vms(), body, headers=headers).reason == (415, "UnsupportedMediaType")
