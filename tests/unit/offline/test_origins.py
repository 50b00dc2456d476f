from typing import Any

import msgspec
import pytest
from tests.support.build import (
    build_flavor,
    build_instancetype,
    build_preference,
    build_revision,
    build_source,
    build_vm,
)

from virtshape import Expander, StatusError
from virtshape.api.codec import encode, to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.resolve.origins import Origin

DOMAIN = "spec.template.spec.domain"
ROOT_VOLUME: JsonObject = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]}


def _explain(vm: VirtualMachine, *objects: Model) -> dict[str, Origin]:
    return {origin.field: origin for origin in Expander(objects).explain(encode(vm))}


def test_each_explained_field_names_its_source() -> None:
    vm = build_vm(instancetype="small", preference="linux", domain={"chassis": {"asset": "a"}})
    origins = _explain(vm, build_instancetype(), build_preference(machine={"preferredMachineType": "pc"}))
    assert [origins[f"{DOMAIN}.{field}"] for field in ("chassis.asset", "memory.guest", "machine.type")] == [
        Origin(f"{DOMAIN}.chassis.asset", "a", "VM", "vm1"),
        Origin(f"{DOMAIN}.memory.guest", "2Gi", "instance type", "small"),
        Origin(f"{DOMAIN}.machine.type", "pc", "preference", "linux"),
    ]
    assert origins["spec.template.spec.evictionStrategy"] == Origin(
        "spec.template.spec.evictionStrategy", "None", "default"
    )


def test_explained_fields_equal_the_expanded_fields() -> None:
    vm = build_vm(instancetype="small", preference="linux", template=ROOT_VOLUME)
    objects = [build_instancetype(), build_preference(devices={"preferredDiskBus": "sata", "preferredRng": {}})]
    template = msgspec.json.decode(Expander(objects).expand(encode(vm)))["spec"]["template"]
    listed = [(field, origin.value) for field, origin in _explain(vm, *objects).items()]
    assert dict(listed) == dict(_list_leaves(template, "spec.template"))


def test_vm_without_matchers_is_the_source_of_all_fields() -> None:
    assert {origin.source for origin in _explain(build_vm(memory="1Gi")).values()} == {"VM"}


def test_inferred_instancetype_is_the_source_of_its_fields() -> None:
    claim = build_source(
        "PersistentVolumeClaim", "disk", labels={"instancetype.kubevirt.io/default-instancetype": "small"}
    )
    vm = build_vm(instancetype={"inferFromVolume": "root"}, template=ROOT_VOLUME)
    assert _explain(vm, claim, build_instancetype())[f"{DOMAIN}.memory.guest"].description == "instance type small"


def test_source_of_an_explained_field_can_be_a_flavor() -> None:
    origins = _explain(build_vm(flavor="tiny"), build_flavor())
    assert origins[f"{DOMAIN}.memory.guest"].description == "flavor tiny"


@pytest.mark.parametrize(
    ("matcher", "status", "description", "memory"),
    [
        pytest.param(
            {"name": "small", "revisionName": "rev"}, None, "instance type small (revision rev)", "1Gi", id="spec"
        ),
        pytest.param(
            {"name": "small"},
            {"instancetypeRef": {"controllerRevisionRef": {"name": "rev"}}},
            "instance type small (revision rev)",
            "1Gi",
            id="status",
        ),
        pytest.param(
            {"name": "other"},
            {"instancetypeRef": {"controllerRevisionRef": {"name": "rev"}}},
            "instance type other",
            "2Gi",
            id="status of another object",
        ),
    ],
)
def test_source_of_an_explained_field_includes_the_revision_in_use(
    matcher: JsonObject, status: JsonObject | None, description: str, memory: str
) -> None:
    stored = to_tree(build_instancetype(memory={"guest": "1Gi"}))
    revision = build_revision("rev", stored, object_name="small")
    vm = build_vm(instancetype=matcher, status=status)
    origins = _explain(vm, revision, build_instancetype(), build_instancetype("other"))
    assert origins[f"{DOMAIN}.memory.guest"].description == description
    assert origins[f"{DOMAIN}.memory.guest"].value == memory


def test_explain_and_expand_raise_the_same_error() -> None:
    vm = build_vm(instancetype="none")
    with pytest.raises(StatusError) as refusal:
        Expander().explain(encode(vm))
    with pytest.raises(StatusError) as expected:
        Expander().expand(encode(vm))
    assert refusal.value.message == expected.value.message


def _list_leaves(tree: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(tree, dict) and tree:
        is_map = path.endswith(("labels", "annotations", "requests", "limits"))
        steps = {f"[{key}]" if is_map else f".{key}": value for key, value in tree.items()}
    elif isinstance(tree, list) and tree:
        steps = {f"[{index}]": value for index, value in enumerate(tree)}
    else:
        return [(path, tree)]
    return [leaf for step, value in steps.items() for leaf in _list_leaves(value, path + step)]
