"""Short guest specs for tables of rules: only the fields that a case is about."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.support.build import Tree, build_spec

from virtshape.admission.violation import Violation, split_violations
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec

Check = Callable[[VirtualMachineInstanceSpec, str], Iterable[Violation]]
Told = list[tuple[str, str]]
"""Fields and expected messages, in KubeVirt's wording where it has one."""

D = "spec.domain"
VOLUMES: list[Tree] = [{"name": "root", "containerDisk": {"image": "i"}}]
POD: list[Tree] = [{"name": "default", "pod": {}}]


def guest(**spec: Any) -> Tree:
    return {"domain": {}, **spec}


def domain(**members: Any) -> Tree:
    return {"domain": members}


def devices(**members: Any) -> Tree:
    return {"domain": {"devices": members}}


def disk(volume: Tree | None = None, **members: Any) -> Tree:
    volumes = [{"name": "root", **volume}] if volume else VOLUMES
    return {"volumes": volumes, **devices(disks=[{"name": "root", **members}])}


def volume(**source: Any) -> Tree:
    return {"domain": {}, "volumes": [{"name": "root", **source}]}


def interface(network: Tree | None = None, **members: Any) -> Tree:
    networks = [{"name": "default", **network}] if network else POD
    return {"networks": networks, **devices(interfaces=[{"name": "default", **members}])}


def read(tree: Tree) -> VirtualMachineInstanceSpec:
    members = {name: value for name, value in tree.items() if name != "domain"}
    return build_spec(domain=tree.get("domain") or None, **members)


def refuse(check: Check, tree: Tree) -> Told:
    """Return the fields and messages that a check reports."""
    return [(cause.field, cause.message) for cause in split_violations(check(read(tree), "spec")).causes]


def expect(check: Check, tree: Tree, told: Told) -> None:
    """Assert that the check reports exactly these fields and messages."""
    found = refuse(check, tree)
    assert [field for field, _ in found] == [field for field, _ in told], found
    for (_, message), (_, reason) in zip(found, told, strict=True):
        assert reason in message, message
