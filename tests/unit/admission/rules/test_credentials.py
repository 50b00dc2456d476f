"""Validation of access credentials and how they are propagated."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import Told, expect, guest

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


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "nothing": (guest(accessCredentials=[{}]), [(AT, f"{AT} must have exactly one access credential type set")]),
    "keys and passwords": (
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
    "keys from nowhere": (
        keys(source={}, **AGENT),
        [(f"{AT}.sshPublicKey.source", f"{AT} must have exactly one source set")],
    ),
    "keys that go nowhere": (
        keys(),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
    "keys that go two ways": (
        keys(noCloud={}, volumes=cloud_init("cloudInitNoCloud"), **AGENT),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
    "keys by a NoCloud disk that is not there": (
        keys(noCloud={}, volumes=cloud_init("cloudInitConfigDrive")),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} requires a noCloud volume to exist when the noCloud")],
    ),
    "keys by a config drive that is not there": (
        keys(configDrive={}, volumes=cloud_init("cloudInitNoCloud")),
        [(f"{AT}.sshPublicKey.propagationMethod", f"{AT} requires a configDrive volume to exist when the")],
    ),
    "keys for nobody": (
        keys(qemuGuestAgent={"users": []}),
        [
            (
                f"{AT}.sshPublicKey.propagationMethod.qemuGuestAgent.users",
                f"{AT} requires at least one user to be present in the users list",
            )
        ],
    ),
    "passwords from nowhere": (
        passwords(source={}, qemuGuestAgent={}),
        [(f"{AT}.userPassword.source", f"{AT} must have exactly one source set")],
    ),
    "passwords that go nowhere": (
        passwords(),
        [(f"{AT}.userPassword.propagationMethod", f"{AT} must have exactly one propagationMethod set")],
    ),
}

KEPT: dict[str, JsonObject] = {
    "keys by the agent": keys(**AGENT),
    "keys by NoCloud": keys(noCloud={}, volumes=cloud_init("cloudInitNoCloud")),
    "keys by a config drive": keys(configDrive={}, volumes=cloud_init("cloudInitConfigDrive")),
    "passwords by the agent": passwords(qemuGuestAgent={}),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional, tree, [])
