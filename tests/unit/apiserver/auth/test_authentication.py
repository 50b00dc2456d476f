from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jwt import PyJWS

from virtshape.api.codec import to_tree
from virtshape.api.status import StatusError
from virtshape.api.tokenrequest import BoundObjectReference, TokenRequest, TokenRequestSpec
from virtshape.apiserver.auth.authentication import (
    CACHE_SECONDS,
    Authenticator,
    ClientCertificate,
    User,
    read_certificate,
)
from virtshape.apiserver.auth.certificates import make_key
from virtshape.apiserver.auth.tokenrequest import answer_token_request
from virtshape.apiserver.auth.tokens import ISSUER, TokenError, TokenSigner
from virtshape.apiserver.auth.userregistry import RegistryEntry, UserRegistry, UserRegistryError, digest_token

START = 1_800_000_000.0
ADMIN_TOKEN = "a-long-and-random-token"  # noqa: S105 -- a token of tests
ROBOT = ("serviceaccounts", "prod", "robot")
ROBOT_NAME = "system:serviceaccount:prod:robot"


class AuthenticatorHarness:
    """An authenticator whose clock and live objects tests can change."""

    def __init__(self, directory: Path) -> None:
        self.now = START
        self.uids = {ROBOT: "robot-uid", ("pods", "prod", "web"): "pod-uid", ("nodes", "", "n1"): "node-uid"}
        self.path = directory / "users.json"
        self.registry = UserRegistry(self.path, self.clock)
        self.registry.add(
            RegistryEntry(
                name="admin",
                kind="token",
                id=digest_token(ADMIN_TOKEN),
                groups=("system:masters",),
                issued=START,
                uid="admin-uid",
            )
        )
        self.signer = TokenSigner(make_key())
        self.authenticator = Authenticator(self.registry, self.signer, self.find_uid, clock=self.clock)

    def clock(self) -> float:
        return self.now

    def find_uid(self, resource: str, namespace: str, name: str) -> str | None:
        return self.uids.get((resource, namespace, name))

    def request(self, signer: TokenSigner | None = None, **spec: Any) -> TokenRequest:
        request = TokenRequest(
            api_version="authentication.k8s.io/v1", kind="TokenRequest", spec=TokenRequestSpec(**spec)
        )
        return answer_token_request(
            request,
            namespace="prod",
            name="robot",
            signer=signer or self.signer,
            find_uid=self.find_uid,
            now=self.now,
        )

    def token(self, signer: TokenSigner | None = None, **spec: Any) -> str:
        status = self.request(signer, **spec).status
        assert status is not None
        return status.token

    def ask(self, token: str) -> User:
        return self.authenticator.authenticate(f"Bearer {token}")


@pytest.fixture
def harness(tmp_path: Path) -> AuthenticatorHarness:
    return AuthenticatorHarness(tmp_path)


def read_claims(token: str) -> Any:
    return msgspec.json.decode(urlsafe_b64decode(token.split(".")[1] + "=="))


def assert_refused(harness: AuthenticatorHarness, token: str) -> None:
    with pytest.raises(StatusError) as refusal:
        harness.ask(token)
    assert to_tree(refusal.value.status) == {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin-uid")


@pytest.mark.parametrize("header", ["Bearer {}", "bearer {}", "Bearer   {} "])
def test_registered_token_authenticates_its_user(harness: AuthenticatorHarness, header: str) -> None:
    assert harness.authenticator.authenticate(header.format(ADMIN_TOKEN)) == ADMIN


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {ADMIN_TOKEN}",
        ADMIN_TOKEN,
        "Bearer \xff",
        "Bearer \xff.b.c",
        "Bearer a.b.c",
        "Bearer ..",
    ],
)
def test_invalid_credentials_are_rejected(harness: AuthenticatorHarness, header: str | None) -> None:
    with pytest.raises(StatusError) as refusal:
        harness.authenticator.authenticate(header)
    assert (refusal.value.code, refusal.value.message) == (401, "Unauthorized")


def test_user_registry_does_not_store_tokens_in_plain_text(harness: AuthenticatorHarness) -> None:
    assert ADMIN_TOKEN not in harness.path.read_text()
    assert harness.path.stat().st_mode & 0o777 == 0o600


def test_user_token_expires(harness: AuthenticatorHarness) -> None:
    harness.registry.add(RegistryEntry(name="bob", kind="token", id=digest_token("t"), issued=START, expires=START + 2))
    assert harness.ask("t").name == "bob"
    harness.now += 2
    assert_refused(harness, "t")


def test_user_registry_changes_by_another_process_take_effect(harness: AuthenticatorHarness) -> None:
    other = UserRegistry(harness.path, harness.clock)
    other.add(RegistryEntry(name="bob", kind="token", id=digest_token("t"), groups=("dev",), issued=START, uid="b"))
    assert harness.ask("t") == User("bob", ("dev", "system:authenticated"), "b")
    other.remove("bob")
    harness.now += CACHE_SECONDS
    assert_refused(harness, "t")
    assert harness.ask(ADMIN_TOKEN) == ADMIN


def test_error_for_an_unreadable_user_registry_names_the_file(harness: AuthenticatorHarness) -> None:
    harness.path.write_text("scribble")
    with pytest.raises(UserRegistryError, match=r"users\.json is not a user registry"):
        UserRegistry(harness.path)


def test_service_account_token_has_kubernetes_claims(harness: AuthenticatorHarness) -> None:
    claims = read_claims(harness.token(expiration_seconds=600))
    assert len(claims.pop("jti")) == 36
    assert claims == {
        "aud": [ISSUER],
        "exp": START + 600,
        "iat": START,
        "iss": ISSUER,
        "kubernetes.io": {"namespace": "prod", "serviceaccount": {"name": "robot", "uid": "robot-uid"}},
        "nbf": START,
        "sub": ROBOT_NAME,
    }


def test_service_account_user_is_a_member_of_the_service_account_groups(harness: AuthenticatorHarness) -> None:
    token = harness.token()
    assert harness.ask(token) == User(
        ROBOT_NAME,
        ("system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"),
        "robot-uid",
        {"authentication.kubernetes.io/credential-id": (f"JTI={read_claims(token)['jti']}",)},
    )


def test_token_request_response_is_complete(harness: AuthenticatorHarness) -> None:
    response = to_tree(harness.request())
    token = response["status"].pop("token")
    assert harness.ask(token).name == ROBOT_NAME
    assert response == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {
            "name": "robot",
            "namespace": "prod",
            "uid": "robot-uid",
            "creationTimestamp": "2027-01-15T08:00:00Z",
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600},
        "status": {"expirationTimestamp": "2027-01-15T09:00:00Z"},
    }


@pytest.mark.parametrize(
    ("seconds", "problem"),
    [(599, "less than 10 minutes"), (-1, "less than 10 minutes"), ((1 << 32) + 1, "larger than 2^32 seconds")],
)
def test_invalid_token_duration_is_rejected(harness: AuthenticatorHarness, seconds: int, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        harness.token(expiration_seconds=seconds)
    message = f"Invalid value: {seconds}: may not specify a duration {problem}"
    assert refusal.value.code == 422
    assert [(cause.field, cause.message) for cause in refusal.value.causes] == [("spec.expirationSeconds", message)]


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        pytest.param({"kind": "Pod", "name": "none"}, 404, id="missing"),
        pytest.param({"kind": "Pod", "name": "web", "uid": "older"}, 409, id="recreated object"),
        pytest.param({"kind": "ConfigMap", "name": "web"}, 400, id="unsupported kind"),
    ],
)
def test_token_bound_to_a_missing_recreated_or_unsupported_object_is_rejected(
    harness: AuthenticatorHarness, reference: dict[str, str], code: int
) -> None:
    with pytest.raises(StatusError) as refusal:
        harness.token(bound_object_ref=BoundObjectReference(**reference))
    assert refusal.value.code == code


def test_token_request_for_missing_service_account_fails(harness: AuthenticatorHarness) -> None:
    del harness.uids[ROBOT]
    with pytest.raises(StatusError) as refusal:
        harness.token()
    assert (refusal.value.code, refusal.value.message) == (404, 'serviceaccounts "robot" not found')


@pytest.mark.parametrize("uid", [None, "another"], ids=["deleted", "recreated"])
def test_token_is_invalid_after_its_service_account_is_deleted(harness: AuthenticatorHarness, uid: str | None) -> None:
    token = harness.token()
    harness.ask(token)
    if uid is None:
        del harness.uids[ROBOT]
    else:
        harness.uids[ROBOT] = uid
    harness.authenticator.forget()
    assert_refused(harness, token)


@pytest.mark.parametrize(
    ("kind", "key", "uid"),
    [("Pod", ("pods", "prod", "web"), "pod-uid"), ("Node", ("nodes", "", "n1"), "node-uid")],
)
def test_bound_token_is_invalid_after_its_object_is_deleted(
    harness: AuthenticatorHarness, kind: str, key: tuple[str, str, str], uid: str
) -> None:
    token = harness.token(bound_object_ref=BoundObjectReference(api_version="v1", kind=kind, name=key[2]))
    assert read_claims(token)["kubernetes.io"][kind.lower()] == {"name": key[2], "uid": uid}
    assert harness.ask(token).extra[f"authentication.kubernetes.io/{kind.lower()}-uid"] == (uid,)
    del harness.uids[key]
    harness.authenticator.forget()
    assert_refused(harness, token)


def test_token_for_another_audience_is_rejected(harness: AuthenticatorHarness) -> None:
    token = harness.token(audiences=["vault"])
    assert_refused(harness, token)
    assert harness.authenticator.review_token(token, ["vault", "other"]).audiences == ("vault",)
    with pytest.raises(TokenError, match="valid for audiences"):
        harness.authenticator.review_token(token, ["other"])


def test_expired_token_is_rejected_even_if_it_is_cached(harness: AuthenticatorHarness) -> None:
    token = harness.token(expiration_seconds=600)
    harness.now += 599
    harness.ask(token)
    harness.now += 1
    assert_refused(harness, token)


def test_deleted_account_is_rejected_after_the_clock_was_set_back(harness: AuthenticatorHarness) -> None:
    harness.now += 60  # the token must be valid at the earlier time
    token = harness.token(expiration_seconds=600)
    harness.ask(token)
    harness.now -= 5
    harness.uids.clear()
    assert_refused(harness, token)


def _encode(tree: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(tree)).rstrip(b"=").decode()


def _forge(token: str, **claims: Any) -> str:
    header, _, signature = token.split(".")
    return f"{header}.{_encode(read_claims(token) | claims)}.{signature}"


FORGERIES: dict[str, Any] = {
    "changed claims": lambda token: _forge(token, exp=START + 10**9),
    "no signature": lambda token: token.rpartition(".")[0] + ".",
    "algorithm none": lambda token: f"{_encode({'alg': 'none'})}.{token.split('.')[1]}.",
    "other algorithm": lambda token: ".".join([_encode({"alg": "HS256"}), *token.split(".")[1:]]),
    "other key ID": lambda token: ".".join([_encode({"alg": "ES256", "kid": "x"}), *token.split(".")[1:]]),
    "signature of zeros": lambda token: f"{token.rpartition('.')[0]}.{'A' * 86}",
    "short signature": lambda token: token[:-4],
    "characters outside base64url": lambda token: token + "==",
    "four parts": lambda token: token + ".x",
    "other bits after the signature": lambda token: token[:-1] + {"A": "B", "Q": "R", "g": "h", "w": "x"}[token[-1]],
    "unknown critical header": lambda token: ".".join(
        [_encode({"alg": "ES256", "crit": ["x"], "x": 1}), *token.split(".")[1:]]
    ),
    "detached payload": lambda token: (
        f"{_encode({'alg': 'ES256', 'b64': False, 'crit': ['b64']})}..{token.rpartition('.')[2]}"
    ),
    "long token": lambda token: token.replace(".", f".{'A' * 20_000}", 1),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_token_is_rejected(harness: AuthenticatorHarness, forge: Any) -> None:
    assert_refused(harness, forge(harness.token()))


def test_token_header_names_algorithm_and_key(harness: AuthenticatorHarness) -> None:
    header = urlsafe_b64decode(harness.token().split(".")[0] + "==")
    assert header == msgspec.json.encode({"alg": "ES256", "kid": harness.signer.key_id})


def test_token_without_key_id_is_accepted(harness: AuthenticatorHarness) -> None:
    key = make_key()
    harness.authenticator = Authenticator(harness.registry, TokenSigner(key), harness.find_uid, clock=harness.clock)
    body = urlsafe_b64decode(harness.token().split(".")[1] + "==")
    assert harness.ask(PyJWS().encode(body, key, "ES256")).name == ROBOT_NAME


def test_token_with_too_many_audiences_is_rejected(harness: AuthenticatorHarness) -> None:
    with pytest.raises(StatusError) as refusal:
        harness.token(audiences=["https://audience.example"] * 1000)
    assert [cause.field for cause in refusal.value.causes] == ["spec.audiences"]
    assert refusal.value.code == 422


def test_token_of_another_server_is_rejected(harness: AuthenticatorHarness) -> None:
    assert_refused(harness, harness.token(TokenSigner(make_key())))


PEER = {
    "subject": ((("organizationName", "dev"),), (("organizationName", "ops"),), (("commonName", "alice"),)),
    "serialNumber": "0AFE",
    "notAfter": "Jan  1 00:00:00 2030 GMT",
}


def test_client_certificate_common_name_is_user_and_organizations_are_groups(harness: AuthenticatorHarness) -> None:
    certificate = read_certificate(PEER)
    assert certificate == ClientCertificate(User("alice", ("dev", "ops", "system:authenticated")), "0AFE", 1893456000)
    assert harness.authenticator.authenticate(None, certificate) == certificate.user


@pytest.mark.parametrize("peer", [None, {}, {"subject": ((("organizationName", "dev"),),)}])
def test_certificate_without_common_name_has_no_user(peer: dict[str, Any] | None) -> None:
    assert read_certificate(peer) is None


def test_certificate_that_expires_during_a_connection_is_rejected(harness: AuthenticatorHarness) -> None:
    certificate = read_certificate(PEER)
    harness.now = 1893456000
    with pytest.raises(StatusError):
        harness.authenticator.authenticate(None, certificate)


def test_revoked_certificate_is_rejected(harness: AuthenticatorHarness) -> None:
    certificate = read_certificate(PEER)
    harness.registry.add(RegistryEntry(name="alice", kind="certificate", id="0AFE", issued=START, expires=1893456000))
    harness.authenticator.authenticate(None, certificate)
    harness.registry.remove("alice")
    harness.now += CACHE_SECONDS
    with pytest.raises(StatusError):
        harness.authenticator.authenticate(None, certificate)


def test_certificates_with_the_same_serial_number_authenticate_different_users(harness: AuthenticatorHarness) -> None:
    alice, bob = (ClientCertificate(User(name), "01", START + 60) for name in ("alice", "bob"))
    names = [harness.authenticator.authenticate(None, certificate).name for certificate in (alice, bob, alice)]
    assert names == ["alice", "bob", "alice"]
