"""Validation of access credentials and how they are propagated."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import Findings, assert_findings, guest

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

AT = "spec.accessCredentials[0]"
SECRET: JsonObject = {"secret": {"secretName": "s"}}
AGENT: JsonObject = {"qemuGuestAgent": {"users": ["root"]}}


def keys(*, source: JsonObject = SECRET, volumes: list[JsonObject] | None = None, **method: Any) -> JsonObject:
    credential = {"sshPublicKey": {"source": source, "propagationMethod": method}}
    return guest(accessCredentials=[credential], volumes=volumes or [])


def cloud_init(source: str) -> list[JsonObject]:
    return [{"name": "init", source: {"userData": "a"}}]


def passwords(*, source: JsonObject = SECRET, **method: Any) -> JsonObject:
    return guest(accessCredentials=[{"userPassword": {"source": source, "propagationMethod": method}}])


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "nothing": (guest(accessCredentials=[{}]), [(AT, f"{AT} must have exactly one access credential type set")]),
    "SSH keys and passwords in one credential": (
        guest(
            accessCredentials=[
                {
                    "sshPublicKey": {"source": SECRET, "propagationMethod": AGENT},
                    "userPassword": {"source": SECRET, "propagationMethod": {"qemuGuestAgent": {}}},
                }
            ]
        ),
        [(AT, f"{AT} must have exactly one access credential type set")],
    ),
    "SSH keys without a source": (
        keys(source={}, **AGENT),
        [(f"{AT}.sshPublicKey.source", f"{AT} must have exactly one source set")],
    ),
    "SSH keys without a propagation method": (
        keys(),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
    "SSH keys with two propagation methods": (
        keys(noCloud={}, volumes=cloud_init("cloudInitNoCloud"), **AGENT),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
    "SSH keys through a missing NoCloud volume": (
        keys(noCloud={}, volumes=cloud_init("cloudInitConfigDrive")),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} requires a noCloud volume to exist when the noCloud")],
    ),
    "SSH keys through a missing config drive": (
        keys(configDrive={}, volumes=cloud_init("cloudInitNoCloud")),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} requires a configDrive volume to exist when the")],
    ),
    "SSH keys without users": (
        keys(qemuGuestAgent={"users": []}),
        [
            (
                f"{AT}.sshPublicKey.propagationMethod.qemuGuestAgent.users",
                f"{AT} requires at least one user to be present in the users list",
            )
        ],
    ),
    "passwords without a source": (
        passwords(source={}, qemuGuestAgent={}),
        [(f"{AT}.userPassword.source", f"{AT} must have exactly one source set")],
    ),
    "passwords without a propagation method": (
        passwords(),
        [(f"{AT}.userPassword.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
}

VALID: dict[str, JsonObject] = {
    "SSH keys through the guest agent": keys(**AGENT),
    "SSH keys through NoCloud": keys(noCloud={}, volumes=cloud_init("cloudInitNoCloud")),
    "SSH keys through a config drive": keys(configDrive={}, volumes=cloud_init("cloudInitConfigDrive")),
    "passwords through the guest agent": passwords(qemuGuestAgent={}),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_access_credential_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_access_credentials_are_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional, tree, [])
