"""Builders of short guest specs for table tests of admission rules, and assertions about the reported problems."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.support.build import build_spec

from virtshape.admission.checkresult import split_violations
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject

Check = Callable[[VirtualMachineInstanceSpec, str], Iterable[FieldError]]
Findings = list[tuple[str, str]]
"""Pairs of a field and a message; expected messages use KubeVirt's wording if KubeVirt reports the same problem."""

D = "spec.domain"
VOLUMES: list[JsonObject] = [{"name": "root", "containerDisk": {"image": "i"}}]
POD: list[JsonObject] = [{"name": "default", "pod": {}}]


def guest(**spec: Any) -> JsonObject:
    return {"domain": {}, **spec}


def domain(**members: Any) -> JsonObject:
    return {"domain": members}


def devices(**members: Any) -> JsonObject:
    return {"domain": {"devices": members}}


def disk(volume: JsonObject | None = None, **members: Any) -> JsonObject:
    volumes = [{"name": "root", **volume}] if volume else VOLUMES
    return {"volumes": volumes, **devices(disks=[{"name": "root", **members}])}


def volume(**source: Any) -> JsonObject:
    return {"domain": {}, "volumes": [{"name": "root", **source}]}


def interface(network: JsonObject | None = None, **members: Any) -> JsonObject:
    networks = [{"name": "default", **network}] if network else POD
    return {"networks": networks, **devices(interfaces=[{"name": "default", **members}])}


def read(tree: JsonObject) -> VirtualMachineInstanceSpec:
    members = {name: value for name, value in tree.items() if name != "domain"}
    return build_spec(domain=tree.get("domain") or None, **members)


def list_findings(check: Check, tree: JsonObject) -> Findings:
    """Return the fields and messages that a check reports."""
    return [(cause.field, cause.message) for cause in split_violations(check(read(tree), "spec")).causes]


def assert_findings(check: Check, tree: JsonObject, expected: Findings) -> None:
    """Assert that the check reports exactly these fields and messages."""
    findings = list_findings(check, tree)
    assert [field for field, _ in findings] == [field for field, _ in expected], findings
    for (_, message), (_, reason) in zip(findings, expected, strict=True):
        assert reason in message, message
