"""Lint and admission agree: lint finds what admission rejects."""

import itertools

import pytest
from tests.support.admission import check_vm
from tests.support.build import build_vm
from tests.support.objects import object_from_tree

from virtshape import Expander
from virtshape.api.codec import encode
from virtshape.api.model import JsonObject, Model
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

DOMAINS: dict[str, JsonObject] = {
    "nothing": {},
    "memory": {"memory": {"guest": "2Gi"}},
    "zero memory": {"memory": {"guest": "0"}},
    "requests": {"resources": {"requests": {"memory": "4Gi", "cpu": "3"}}},
    "limits": {"resources": {"limits": {"memory": "4Gi", "cpu": "3"}}},
    "huge pages": {"memory": {"hugepages": {"pageSize": "2Mi"}}},
    "vCPUs": {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}},
    "zero vCPUs": {"cpu": {"guest": 0}, "memory": {"guest": "4Gi"}},
    "cores": {"cpu": {"cores": 4}, "memory": {"guest": "4Gi"}},
    "cores and vCPUs": {"cpu": {"cores": 4, "guest": 4}, "memory": {"guest": "4Gi"}},
}
INSTANCETYPES: dict[str, JsonObject | None] = {
    "none": None,
    "open": {},
    "vCPUs": {"cpu": {"guest": 3}},
    "memory": {"memory": {"guest": "4Gi"}},
    "small": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    "large": {"cpu": {"guest": 8}, "memory": {"guest": "8Gi", "overcommitPercent": 10}},
    "a topology": {"cpu": {"topology": {"cores": 2, "threads": 3}}, "memory": {"guest": "4Gi"}},
}
PREFERENCES: dict[str, JsonObject | None] = {
    "none": None,
    "empty": {},
    "two vCPUs": {"requirements": {"cpu": {"guest": 2}}},
    "memory": {"requirements": {"memory": {"guest": "3Gi"}}},
    "cores": {"cpu": {"preferredCPUTopology": "cores"}, "requirements": {"cpu": {"guest": 4}}},
    "spread": {"cpu": {"preferredCPUTopology": "spread"}},
    "spread and vCPUs": {"cpu": {"preferredCPUTopology": "spread"}, "requirements": {"cpu": {"guest": 4}}},
    "arm": {"requirements": {"architecture": "arm64"}},
    "prefers arm": {"requirements": {"architecture": "arm64"}, "preferredArchitecture": "arm64"},
}
GRID = list(itertools.product(DOMAINS, INSTANCETYPES))


def _shaping(kind: str, spec: JsonObject | None) -> list[Model]:
    head = {"apiVersion": "instancetype.kubevirt.io/v1beta2", "kind": kind, "metadata": {"name": "it"}}
    return [] if spec is None else [object_from_tree({**head, "spec": spec})]


@pytest.mark.parametrize(("domain", "instancetype"), GRID, ids=[" with ".join(each) for each in GRID])
def test_lint_finds_what_admission_rejects(domain: str, instancetype: str) -> None:
    given = _shaping("VirtualMachineClusterInstancetype", INSTANCETYPES[instancetype])
    for preference, spec in PREFERENCES.items():
        liked = _shaping("VirtualMachineClusterPreference", spec)
        vm = build_vm(domain=DOMAINS[domain], instancetype="it" if given else None, preference="it" if liked else None)
        objects = [*given, *liked]
        refused = {conflict.field for conflict in check_vm(vm, get_shape(vm, Objects(objects).find))}
        found = {finding.field for finding in Expander(objects).lint(encode(vm)) if finding.level == "error"}
        assert bool(found) == bool(refused), preference
        assert refused <= found, preference
