"""Unknown fields are dropped, warned about or rejected; schema violations are rejected."""

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import structs

from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import list_causes
from virtshape.apiserver.validation.strictness import MAX_WARNING_CHARACTERS, admit_fields, find_duplicates


def kind(name: str, api_version: str = "v1") -> Kind:
    found = find_kind(api_version, name)
    assert found is not None
    return found


VM = kind("VirtualMachine", "kubevirt.io/v1")
VMI = kind("VirtualMachineInstance", "kubevirt.io/v1")
INSTANCETYPE = kind("VirtualMachineInstancetype", "instancetype.kubevirt.io/v1beta1")
KUBEVIRT = kind("KubeVirt", "kubevirt.io/v1")
POD = kind("Pod")


def build(of: Kind, metadata: JsonObject | None = None, **fields: Any) -> JsonObject:
    return {"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": "a", **(metadata or {})}, **fields}


def instancetype(metadata: JsonObject | None = None, /, **spec: Any) -> JsonObject:
    return build(INSTANCETYPE, metadata, spec={"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}, **spec})


def vm(spec: JsonObject | None = None, /, domain: JsonObject | None = None, **template: Any) -> JsonObject:
    shaped = {"domain": {"devices": {}, **(domain or {})}, **template}
    return build(VM, spec={"runStrategy": "Halted", "template": {"spec": shaped}, **(spec or {})})


def admit(tree: JsonObject, of: Kind, validation: str = "Warn", **options: Any) -> tuple[JsonObject, list[str]]:
    return admit_fields(tree, json.dumps(tree).encode(), of, validation, **options)


PRUNED: dict[str, tuple[Kind, JsonObject, JsonObject, list[str]]] = {
    "nothing to prune": (INSTANCETYPE, instancetype(), instancetype(), []),
    "unknown fields, in order": (
        INSTANCETYPE,
        instancetype({"wrong": "y"}, bogus=1, cpu={"guest": 1, "extra": {"x": 1}}),
        instancetype(),
        ["metadata.wrong", "spec.bogus", "spec.cpu.extra"],
    ),
    "unknown field in a list": (
        VM,
        vm(volumes=[{"name": "a", "x": 1}]),
        vm(volumes=[{"name": "a"}]),
        ["spec.template.spec.volumes[0].x"],
    ),
    "unknown field whose name has a dot": (INSTANCETYPE, instancetype(**{"a.b": 1}), instancetype(), ["spec[a.b]"]),
    "unknown settings are kept": (
        KUBEVIRT,
        build(KUBEVIRT, spec={"configuration": {"colour": {"a": None}, "network": {"speed": 1}}, "bogus": 1}),
        build(KUBEVIRT, spec={"configuration": {"colour": {"a": None}, "network": {"speed": 1}}}),
        ["spec.bogus"],
    ),
    "unknown null": (INSTANCETYPE, instancetype(bogus=None), instancetype(), ["spec.bogus"]),
    "nulls": (INSTANCETYPE, instancetype({"creationTimestamp": None}, gpus=None), instancetype(), []),
    "null label value": (INSTANCETYPE, instancetype({"labels": {"a": None}}), instancetype({"labels": {"a": ""}}), []),
    "nulls in conditions are kept": (
        VM,
        {
            **vm(),
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None, "reason": None}]},
        },
        {**vm(), "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None}]}},
        [],
    ),
    "nulls in nested metadata are kept": (
        VM,
        vm({"template": {"metadata": {"creationTimestamp": None}, "spec": {"domain": {"devices": {}}}}}),
        vm({"template": {"metadata": {"creationTimestamp": None}, "spec": {"domain": {"devices": {}}}}}),
        [],
    ),
    "nulls in a built-in template are dropped": (
        kind("Deployment", "apps/v1"),
        build(
            kind("Deployment", "apps/v1"),
            spec={
                "selector": {},
                "template": {"metadata": {"creationTimestamp": None}, "spec": {"containers": [{"name": "c"}]}},
            },
        ),
        build(
            kind("Deployment", "apps/v1"),
            spec={"selector": {}, "template": {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}},
        ),
        [],
    ),
    "field of any type": (
        kind("ControllerRevision", "apps/v1"),
        build(kind("ControllerRevision", "apps/v1"), revision=1, data={"x": [None, {"y": None}]}),
        build(kind("ControllerRevision", "apps/v1"), revision=1, data={"x": [None, {"y": None}]}),
        [],
    ),
    "owner without a name": (
        INSTANCETYPE,
        instancetype({"ownerReferences": [{"kind": "ConfigMap"}], "finalizers": None}),
        instancetype({"ownerReferences": [{"kind": "ConfigMap"}]}),
        [],
    ),
}


@pytest.mark.parametrize("validation", ["Ignore", "Warn"])
@pytest.mark.parametrize(("of", "tree", "expected", "unknown"), PRUNED.values(), ids=PRUNED)
def test_unknown_fields_and_nulls_are_dropped(
    of: Kind, tree: JsonObject, expected: JsonObject, unknown: list[str], validation: str
) -> None:
    before = deepcopy(tree)
    warnings = [f'unknown field "{path}"' for path in unknown] if validation == "Warn" else []
    assert admit(tree, of, validation) == (expected, warnings)
    assert admit_fields(tree, None, of, validation, patching=True) == (expected, warnings)
    assert tree == before


def test_same_tree_is_returned_if_no_field_was_dropped() -> None:
    tree = vm()
    assert admit(tree, VM)[0] is tree


def test_length_of_warnings_about_unknown_fields_is_limited() -> None:
    _, warnings = admit(instancetype(**{f"field{number}": 1 for number in range(1000)}), INSTANCETYPE)
    assert 50 < len(warnings) < 1000
    assert sum(map(len, warnings)) <= MAX_WARNING_CHARACTERS


DUPLICATES: dict[str, tuple[str, list[str]]] = {
    "none": ('{"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}}', []),
    "same key in another object": ('{"a":{"b":1},"b":{"a":[{"b":":"}]}}', []),
    "one": ('{"spec":{"cpu":{"guest":1},"cpu":{"guest":3}}}', ["spec.cpu"]),
    "in a list": ('{"a":[{},{"b":1,"b":1}]}', ["a[1].b"]),
    "after spaces": ('{"a" :1,"a": 2, "b"\n:3}', ["a"]),
    "with an escape sequence": ('{"a":"\\u003a","b":1,"b":2}', ["b"]),
    "colons in strings": ('{"a":"::","b":"\\"c\\":1"}', []),
    "value with colons": ('{"a":"::::","a":1}', ["a"]),
}


@pytest.mark.parametrize(("text", "expected"), DUPLICATES.values(), ids=DUPLICATES)
def test_duplicate_json_fields_are_found(text: str, expected: list[str]) -> None:
    assert find_duplicates(text.encode(), msgspec.json.decode(text)) == expected


TWICE = (
    b'{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineInstancetype","metadata":{"name":"dup"},'
    b'"spec":{"cpu":{"guest":1},"cpu":{"guest":3},"memory":{"guest":"1Gi"},"bogus":1}}'
)


def test_duplicate_field_warns_and_last_value_wins() -> None:
    tree, warnings = admit_fields(msgspec.json.decode(TWICE), TWICE, INSTANCETYPE, "Warn")
    assert tree["spec"] == {"cpu": {"guest": 3}, "memory": {"guest": "1Gi"}}
    assert warnings == ['duplicate field "spec.cpu"', 'unknown field "spec.bogus"']
    assert admit_fields(msgspec.json.decode(TWICE), TWICE, INSTANCETYPE, "Ignore") == (tree, [])


def test_strict_validation_reports_all_problems() -> None:
    with pytest.raises(StatusError) as caught:
        admit_fields(msgspec.json.decode(TWICE), TWICE, INSTANCETYPE, "Strict")
    error = caught.value
    assert (error.code, error.reason, error.causes) == (400, "BadRequest", ())
    assert error.message == (
        'VirtualMachineInstancetype in version "v1beta1" cannot be handled as a VirtualMachineInstancetype: '
        'strict decoding error: duplicate field "spec.cpu", unknown field "spec.bogus"'
    )


def test_strict_validation_of_a_patch_rejects_unknown_fields() -> None:
    with pytest.raises(StatusError) as caught:
        admit_fields({"spec": {"bogus": 1}}, None, INSTANCETYPE, "Strict", patching=True)
    error = caught.value
    message = r'Invalid value: "{\"spec\":{\"bogus\":1}}": strict decoding error: unknown field "spec.bogus"'
    assert (error.code, error.reason, error.message) == (422, "Invalid", f' "" is invalid: patch: {message}')
    assert [(cause.field, cause.message) for cause in error.causes] == [("patch", message)]


UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
SPREAD = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
USERS = "spec.template.spec.accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users"


def credentials(*users: str) -> list[JsonObject]:
    method = {"qemuGuestAgent": {"users": list(users)}}
    return [{"sshPublicKey": {"source": {}, "propagationMethod": method}}]


INVALID: dict[str, tuple[Kind, JsonObject, str]] = {
    "choice": (
        VM,
        vm(domain={"rebootPolicy": "Sometimes"}),
        (
            '[spec.template.spec.domain.rebootPolicy: Unsupported value: "Sometimes": '
            f'supported values: "Reboot", "Terminate", {UNCHECKED}]'
        ),
    ),
    "value outside the enum": (
        VMI,
        build(VMI, spec={"domain": {"devices": {}}, "dnsPolicy": "Mine"}),
        (
            '[spec.dnsPolicy: Unsupported value: "Mine": supported values: '
            f'"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None", {UNCHECKED}]'
        ),
    ),
    "items with the same keys": (
        VM,
        vm(topologySpreadConstraints=[SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}, SPREAD]),
        (
            "spec.template.spec.topologySpreadConstraints[2]: Duplicate value: "
            '{"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}'
        ),
    ),
    "duplicate scalar items": (
        VM,
        vm(accessCredentials=credentials("a", "b", "a")),
        f'{USERS}[2]: Duplicate value: "a"',
    ),
    "rules": (
        VM,
        vm(volumes=[{"name": "a"}, {"name": "cp", "containerPath": {"path": "relative", "readOnly": False}}]),
        (
            '[spec.template.spec.volumes[1].containerPath.path: Invalid value: "relative": '
            "path must be absolute (start with '/'), spec.template.spec.volumes[1].containerPath.readOnly: "
            "Invalid value: false: readOnly must be true, write access is not supported]"
        ),
    ),
    "missing": (VM, build(VM, spec={"runStrategy": "Halted"}), f"[spec.template: Required value, {UNCHECKED}]"),
    "type": (
        INSTANCETYPE,
        instancetype(cpu={"guest": "many"}),
        'spec.cpu.guest: Invalid value: "string": spec.cpu.guest in body must be of type integer: "string"',
    ),
    "type of a list": (
        INSTANCETYPE,
        instancetype(gpus={}),
        'spec.gpus: Invalid value: "object": spec.gpus in body must be of type array: "object"',
    ),
    "null in a list": (
        INSTANCETYPE,
        instancetype(gpus=[None]),
        'spec.gpus[0]: Invalid value: "null": spec.gpus[0] in body must be of type object: "null"',
    ),
    "boolean for a number": (
        INSTANCETYPE,
        instancetype(cpu={"guest": True}),
        'spec.cpu.guest: Invalid value: "boolean": spec.cpu.guest in body must be of type integer: "boolean"',
    ),
    "below zero": (
        INSTANCETYPE,
        instancetype(cpu={"guest": -1}),
        "spec.cpu.guest: Invalid value: -1: spec.cpu.guest in body should be greater than or equal to 0",
    ),
    "several": (
        INSTANCETYPE,
        instancetype(cpu=[], memory={}),
        (
            '[spec.cpu: Invalid value: "array": spec.cpu in body must be of type object: "array", '
            "spec.memory.guest: Required value]"
        ),
    ),
}


@pytest.mark.parametrize(("of", "tree", "message"), INVALID.values(), ids=INVALID)
def test_schema_violation_is_rejected(of: Kind, tree: JsonObject, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        admit(tree, of, "Strict")
    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    assert list_causes(error.causes) == message
    assert error.message == f'{of.kind}.{of.group} "a" is invalid: {message}'
    assert (error.details.kind, error.details.name) == (of.kind, "a")


def test_invalid_quantity_is_rejected() -> None:
    with pytest.raises(
        StatusError, match=r'spec.memory.guest: Invalid value: "a lot": spec.memory.guest in body is no'
    ):
        admit(instancetype(memory={"guest": "a lot"}), INSTANCETYPE)


UNREADABLE: dict[str, tuple[Kind, JsonObject, str]] = {
    "labels that are not strings": (
        INSTANCETYPE,
        instancetype({"labels": {"a": 1}}),
        "json: cannot unmarshal integer into field metadata.labels.a of type string",
    ),
    "metadata that is not an object": (
        INSTANCETYPE,
        {**instancetype(), "metadata": []},
        "json: cannot unmarshal array into field metadata of type object",
    ),
    "built-in kind": (
        POD,
        build(POD, spec={"containers": [{"name": "a", "tty": "yes"}]}),
        "json: cannot unmarshal string into field spec.containers[0].tty of type boolean",
    ),
    "invalid quantity": (
        POD,
        build(POD, spec={"containers": [{"name": "a", "resources": {"limits": {"cpu": "x"}}}]}),
        "field spec.containers[0].resources.limits.cpu is not a quantity: expected a quantity such as 4Gi, got 'x': ",
    ),
}


@pytest.mark.parametrize(("of", "tree", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_undecodable_object_is_rejected(of: Kind, tree: JsonObject, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        admit(tree, of)
    error = caught.value
    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message.startswith(f'{of.kind} in version "{of.version}" cannot be handled as a {of.kind}: {message}')
    with pytest.raises(StatusError) as caught:
        admit(tree, of, patching=True)
    assert (caught.value.code, caught.value.causes[0].field) == (422, "patch")


def test_builtin_kind_without_a_required_field_is_rejected() -> None:
    with pytest.raises(StatusError, match=r'^Pod "a" is invalid: spec.containers: Required value$') as caught:
        admit(build(POD, spec={"hostNetwork": True}), POD)
    assert caught.value.code == 422


def add_unknown_fields(tree: Any, key: str) -> Any:
    """Add an unknown field to the object and to its spec."""
    if isinstance(tree, dict):
        return {
            **{name: add_unknown_fields(value, key) if name == "spec" else value for name, value in tree.items()},
            key: 1,
        }
    return tree


@settings(max_examples=50)
@given(machine=structs(VirtualMachine, metadata=ObjectMeta(name="a")), spoilt=st.booleans())
def test_generated_vms_are_admitted_unchanged_except_unknown_fields(machine: VirtualMachine, spoilt: bool) -> None:
    tree = {**to_tree(machine), "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine"}
    try:
        admitted, warnings = admit(add_unknown_fields(tree, "nobodyKnows") if spoilt else tree, VM)
    except StatusError as error:
        # Random texts violate validation rules, but always have the right type.
        found = {cause.reason for cause in error.causes} - {"FieldValueDuplicate", "FieldValueNotSupported"}
        assert found <= {"FieldValueInvalid"}, error.message  # noqa: PT017 -- both ends are right
    else:
        assert admitted == tree
        assert len(warnings) == (2 if spoilt else 0)
