from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from cryptography import x509
from tests.support.rbac import build_attributes

from virtshape.api.codec import to_tree
from virtshape.api.status import StatusError
from virtshape.api.yaml import read_documents
from virtshape.apiserver.auth.authentication import Authenticator, ClientCertificate, User
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.auth.builtinroles import build_roles
from virtshape.apiserver.auth.certificates import make_key
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.tokens import TokenSigner
from virtshape.apiserver.auth.userregistry import RegistryEntry
from virtshape.apiserver.auth.users import BindingName, Directory, create_user, ensure_admin, list_users, remove_user

URL = "https://127.0.0.1:6443"


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def authenticate(directory: Directory, kubeconfig: str) -> User:
    authenticator = Authenticator(directory.registry, TokenSigner(make_key()), lambda *_: None)
    return authenticator.authenticate(f"Bearer {find_token(kubeconfig)}")


def read_kubeconfig(text: str) -> Any:
    (document,) = read_documents(text)
    return document.tree


def test_admin_kubeconfig_authenticates_a_member_of_system_masters(directory: Directory) -> None:
    text = ensure_admin(directory, URL).read_text()
    (entry,) = list_users(directory)
    assert authenticate(directory, text) == User("admin", ("system:masters", "system:authenticated"), entry.uid)
    assert directory.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_admin_token_is_reused_while_its_kubeconfig_exists(directory: Directory) -> None:
    first = ensure_admin(directory, URL).read_text()
    moved = ensure_admin(directory, "https://127.0.0.1:7443").read_text()
    assert find_token(first) == find_token(moved)
    assert read_kubeconfig(moved)["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:7443"


@pytest.mark.parametrize("content", [None, "", "scribble: [", "users: [{user: {token: guess}}]"])
def test_lost_or_damaged_admin_kubeconfig_is_recreated_and_its_old_token_revoked(
    directory: Directory, content: str | None
) -> None:
    old = ensure_admin(directory, URL).read_text()
    if content is None:
        directory.kubeconfig.unlink()
    else:
        directory.kubeconfig.write_text(content)
    new = ensure_admin(directory, URL).read_text()
    assert authenticate(directory, new).name == "admin"
    with pytest.raises(StatusError):
        authenticate(directory, old)


def test_token_of_another_user_is_not_used_for_admin(directory: Directory) -> None:
    ensure_admin(directory, URL)
    directory.kubeconfig.write_text(create_user(directory, URL, "eve", by="token").kubeconfig)
    text = ensure_admin(directory, URL).read_text()
    assert authenticate(directory, text).name == "admin"


def test_user_with_token_is_authenticated(directory: Directory) -> None:
    user = create_user(directory, URL, "eve@example.org", by="token", groups=["dev"])
    (entry,) = list_users(directory)
    expected = User("eve@example.org", ("dev", "system:authenticated"), entry.uid)
    assert authenticate(directory, user.kubeconfig) == expected
    assert user.bindings == []


def test_all_tokens_of_a_user_have_the_same_uid_until_the_user_is_removed(directory: Directory) -> None:
    first, second = (create_user(directory, URL, "eve", by="token").kubeconfig for _ in range(2))
    uid = authenticate(directory, first).uid
    assert uid
    assert authenticate(directory, second).uid == uid
    remove_user(directory, "eve")
    assert authenticate(directory, create_user(directory, URL, "eve", by="token").kubeconfig).uid not in ("", uid)


def test_registry_entry_without_a_stored_uid_has_a_stable_uid() -> None:
    entry = RegistryEntry(name="eve", kind="token", id="digest", issued=0)
    assert entry.user_uid == RegistryEntry(name="eve", kind="token", id="digest", issued=5).user_uid != ""


def test_user_with_certificate_gets_a_kubeconfig_and_a_registry_entry(directory: Directory) -> None:
    user = create_user(directory, URL, "eve", groups=["dev"], lifetime=timedelta(days=2))
    (entry,) = list_users(directory)
    entered = read_kubeconfig(user.kubeconfig)["users"][0]["user"]
    assert sorted(entered) == ["client-certificate-data", "client-key-data"]
    assert (entry.name, entry.kind, entry.groups) == ("eve", "certificate", ("dev",))
    assert entry.expires == pytest.approx(entry.issued + 2 * 86400, abs=5)


def test_client_certificate_can_have_a_unicode_user_name(directory: Directory) -> None:
    credential = directory.pki.authority.issue_client("ève")
    subject = x509.load_pem_x509_certificate(credential.certificate).subject
    assert subject.rfc4514_string() == "CN=ève"


@pytest.mark.parametrize(
    ("namespace", "kind", "here", "elsewhere"),
    [("prod", "RoleBinding", True, False), (None, "ClusterRoleBinding", True, True)],
)
def test_user_role_is_bound_in_namespace_or_cluster_wide(
    directory: Directory, namespace: str | None, kind: str, here: bool, elsewhere: bool
) -> None:
    user = create_user(directory, URL, "eve", namespace=namespace, role="view")
    (binding,) = user.bindings
    tree = to_tree(binding)
    assert tree.pop("metadata") == {"name": "user:eve:view"} | ({"namespace": namespace} if namespace else {})
    assert tree == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
    }
    authorizer = Authorizer([*build_roles(), binding])
    allowed = [
        authorizer.authorize(User("eve"), build_attributes("list", namespace=where)).allowed
        for where in ("prod", "test")
    ]
    assert allowed == [here, elsewhere]
    context = read_kubeconfig(user.kubeconfig)["contexts"][0]["context"]
    assert context["namespace"] == (namespace or "default")


@pytest.mark.parametrize("by", ["token", "certificate"])
def test_removed_user_is_rejected(directory: Directory, by: Literal["token", "certificate"]) -> None:
    text = create_user(directory, URL, "eve", by=by, namespace="prod", role="edit").kubeconfig
    create_user(directory, URL, "eve", by=by, role="view")
    create_user(directory, URL, "joe", by=by)
    serials = [entry.id for entry in list_users(directory)]
    assert remove_user(directory, "eve") == [
        BindingName("RoleBinding", "prod", "user:eve:edit"),
        BindingName("ClusterRoleBinding", "", "user:eve:view"),
    ]
    assert [entry.name for entry in list_users(directory)] == ["joe"]
    if by == "token":
        with pytest.raises(StatusError):
            authenticate(directory, text)
        return
    authenticator = Authenticator(directory.registry, TokenSigner(make_key()), lambda *_: None)
    certificates = [ClientCertificate(User("x"), serial, 4e9) for serial in serials]
    assert authenticator.authenticate(None, certificates[2]).name == "x"
    for certificate in certificates[:2]:
        with pytest.raises(StatusError):
            authenticator.authenticate(None, certificate)


def test_removing_unknown_user_fails(directory: Directory) -> None:
    with pytest.raises(StatusError) as refusal:
        remove_user(directory, "eve")
    assert (refusal.value.code, refusal.value.message) == (404, 'users "eve" not found')


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a%b", "a\n", "x" * 65, "system:admin", "admin"])
def test_invalid_user_name_is_rejected(directory: Directory, name: str) -> None:
    with pytest.raises(StatusError) as refusal:
        create_user(directory, URL, name)
    assert refusal.value.code == 422
    assert list_users(directory) == []
