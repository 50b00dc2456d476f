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


class World:
    """An authenticator with a clock and live objects that tests change."""

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
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def read_claims(token: str) -> Any:
    return msgspec.json.decode(urlsafe_b64decode(token.split(".")[1] + "=="))


def assert_refused(world: World, token: str) -> None:
    with pytest.raises(StatusError) as refusal:
        world.ask(token)
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
def test_registered_token_authenticates_its_user(world: World, header: str) -> None:
    assert world.authenticator.authenticate(header.format(ADMIN_TOKEN)) == ADMIN


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
def test_invalid_credentials_are_rejected(world: World, header: str | None) -> None:
    with pytest.raises(StatusError) as refusal:
        world.authenticator.authenticate(header)
    assert (refusal.value.code, refusal.value.message) == (401, "Unauthorized")


def test_registry_stores_no_token(world: World) -> None:
    assert ADMIN_TOKEN not in world.path.read_text()
    assert world.path.stat().st_mode & 0o777 == 0o600


def test_token_expires(world: World) -> None:
    world.registry.add(RegistryEntry(name="bob", kind="token", id=digest_token("t"), issued=START, expires=START + 2))
    assert world.ask("t").name == "bob"
    world.now += 2
    assert_refused(world, "t")


def test_registry_changes_by_another_process_are_seen(world: World) -> None:
    other = UserRegistry(world.path, world.clock)
    other.add(RegistryEntry(name="bob", kind="token", id=digest_token("t"), groups=("dev",), issued=START, uid="b"))
    assert world.ask("t") == User("bob", ("dev", "system:authenticated"), "b")
    other.remove("bob")
    world.now += CACHE_SECONDS
    assert_refused(world, "t")
    assert world.ask(ADMIN_TOKEN) == ADMIN


def test_unreadable_registry_error_names_the_file(world: World) -> None:
    world.path.write_text("scribble")
    with pytest.raises(UserRegistryError, match=r"users\.json is not a user registry"):
        UserRegistry(world.path)


def test_service_account_token_has_kubernetes_claims(world: World) -> None:
    claims = read_claims(world.token(expiration_seconds=600))
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


def test_service_account_user_has_its_groups(world: World) -> None:
    token = world.token()
    assert world.ask(token) == User(
        ROBOT_NAME,
        ("system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"),
        "robot-uid",
        {"authentication.kubernetes.io/credential-id": (f"JTI={read_claims(token)['jti']}",)},
    )


def test_token_request_response_is_complete(world: World) -> None:
    response = to_tree(world.request())
    token = response["status"].pop("token")
    assert world.ask(token).name == ROBOT_NAME
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
def test_invalid_token_duration_is_rejected(world: World, seconds: int, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        world.token(expiration_seconds=seconds)
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
def test_token_bound_to_missing_object_is_rejected(world: World, reference: dict[str, str], code: int) -> None:
    with pytest.raises(StatusError) as refusal:
        world.token(bound_object_ref=BoundObjectReference(**reference))
    assert refusal.value.code == code


def test_token_request_for_missing_service_account_fails(world: World) -> None:
    del world.uids[ROBOT]
    with pytest.raises(StatusError) as refusal:
        world.token()
    assert (refusal.value.code, refusal.value.message) == (404, 'serviceaccounts "robot" not found')


@pytest.mark.parametrize("uid", [None, "another"], ids=["deleted", "recreated"])
def test_token_is_invalid_after_its_service_account_is_deleted(world: World, uid: str | None) -> None:
    token = world.token()
    world.ask(token)
    if uid is None:
        del world.uids[ROBOT]
    else:
        world.uids[ROBOT] = uid
    world.authenticator.forget()
    assert_refused(world, token)


@pytest.mark.parametrize(
    ("kind", "key", "uid"),
    [("Pod", ("pods", "prod", "web"), "pod-uid"), ("Node", ("nodes", "", "n1"), "node-uid")],
)
def test_bound_token_is_invalid_after_its_object_is_deleted(
    world: World, kind: str, key: tuple[str, str, str], uid: str
) -> None:
    token = world.token(bound_object_ref=BoundObjectReference(api_version="v1", kind=kind, name=key[2]))
    assert read_claims(token)["kubernetes.io"][kind.lower()] == {"name": key[2], "uid": uid}
    assert world.ask(token).extra[f"authentication.kubernetes.io/{kind.lower()}-uid"] == (uid,)
    del world.uids[key]
    world.authenticator.forget()
    assert_refused(world, token)


def test_token_for_other_audience_is_rejected(world: World) -> None:
    token = world.token(audiences=["vault"])
    assert_refused(world, token)
    assert world.authenticator.review_token(token, ["vault", "other"]).audiences == ("vault",)
    with pytest.raises(TokenError, match="valid for audiences"):
        world.authenticator.review_token(token, ["other"])


def test_expired_token_is_rejected_although_cached(world: World) -> None:
    token = world.token(expiration_seconds=600)
    world.now += 599
    world.ask(token)
    world.now += 1
    assert_refused(world, token)


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
def test_forged_token_is_rejected(world: World, forge: Any) -> None:
    assert_refused(world, forge(world.token()))


def test_token_header_names_algorithm_and_key(world: World) -> None:
    header = urlsafe_b64decode(world.token().split(".")[0] + "==")
    assert header == msgspec.json.encode({"alg": "ES256", "kid": world.signer.key_id})


def test_token_without_key_id_is_accepted(world: World) -> None:
    key = make_key()
    world.authenticator = Authenticator(world.registry, TokenSigner(key), world.find_uid, clock=world.clock)
    body = urlsafe_b64decode(world.token().split(".")[1] + "==")
    assert world.ask(PyJWS().encode(body, key, "ES256")).name == ROBOT_NAME


def test_token_with_too_many_audiences_is_rejected(world: World) -> None:
    with pytest.raises(StatusError) as refusal:
        world.token(audiences=["https://audience.example"] * 1000)
    assert [cause.field for cause in refusal.value.causes] == ["spec.audiences"]
    assert refusal.value.code == 422


def test_token_of_another_server_is_rejected(world: World) -> None:
    assert_refused(world, world.token(TokenSigner(make_key())))


PEER = {
    "subject": ((("organizationName", "dev"),), (("organizationName", "ops"),), (("commonName", "alice"),)),
    "serialNumber": "0AFE",
    "notAfter": "Jan  1 00:00:00 2030 GMT",
}


def test_client_certificate_common_name_is_user_and_organizations_are_groups(world: World) -> None:
    certificate = read_certificate(PEER)
    assert certificate == ClientCertificate(User("alice", ("dev", "ops", "system:authenticated")), "0AFE", 1893456000)
    assert world.authenticator.authenticate(None, certificate) == certificate.user


@pytest.mark.parametrize("peer", [None, {}, {"subject": ((("organizationName", "dev"),),)}])
def test_certificate_without_common_name_has_no_user(peer: dict[str, Any] | None) -> None:
    assert read_certificate(peer) is None


def test_certificate_that_expires_during_a_connection_is_rejected(world: World) -> None:
    certificate = read_certificate(PEER)
    world.now = 1893456000
    with pytest.raises(StatusError):
        world.authenticator.authenticate(None, certificate)


def test_revoked_certificate_is_rejected(world: World) -> None:
    certificate = read_certificate(PEER)
    world.registry.add(RegistryEntry(name="alice", kind="certificate", id="0AFE", issued=START, expires=1893456000))
    world.authenticator.authenticate(None, certificate)
    world.registry.remove("alice")
    world.now += CACHE_SECONDS
    with pytest.raises(StatusError):
        world.authenticator.authenticate(None, certificate)


def test_certificates_with_same_serial_number_are_separate_users(world: World) -> None:
    alice, bob = (ClientCertificate(User(name), "01", START + 60) for name in ("alice", "bob"))
    names = [world.authenticator.authenticate(None, certificate).name for certificate in (alice, bob, alice)]
    assert names == ["alice", "bob", "alice"]
