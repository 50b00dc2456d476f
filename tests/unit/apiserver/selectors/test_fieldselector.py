"""Field selectors support the fields that Kubernetes supports."""

import pytest

from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.selectors.fieldselector import compile_terms, parse_field_selector


def kind(name: str, api_version: str = "v1") -> Kind:
    found = find_kind(api_version, name)
    assert found is not None
    return found


VM = kind("VirtualMachine", "kubevirt.io/v1")
POD = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "host", "hostNetwork": True},
    "status": {"phase": "Running", "podIP": "10.0.0.1"},
}
EVENT = {
    "metadata": {"name": "e", "namespace": "n"},
    "involvedObject": {"kind": "VirtualMachine", "name": "vm", "namespace": "n", "uid": "1"},
    "reason": "Started",
    "type": "Normal",
    "reportingComponent": "virtshape",
}

Case = tuple[Kind, JsonObject, str, bool]
CASES: dict[str, Case] = {
    "empty selector": (VM, {}, "", True),
    "name": (VM, {"metadata": {"name": "a"}}, "metadata.name=a", True),
    "other name": (VM, {"metadata": {"name": "a"}}, "metadata.name=b", False),
    "name with ==": (VM, {"metadata": {"name": "a"}}, "metadata.name==a", True),
    "name with !=": (VM, {"metadata": {"name": "a"}}, "metadata.name!=a", False),
    "namespace": (VM, {"metadata": {"name": "a", "namespace": "n"}}, "metadata.namespace=n,metadata.name=a", True),
    "no namespace": (kind("Node"), {"metadata": {"name": "a"}}, "metadata.namespace=", True),
    "stray commas": (VM, {"metadata": {"name": "a"}}, ",metadata.name=a,", True),
    "phase of a pod": (kind("Pod"), POD, "status.phase!=Running", False),
    "node of a pod": (kind("Pod"), POD, "spec.nodeName=host", True),
    "node of a pod by its deprecated name": (kind("Pod"), POD, "spec.host=host", True),
    "pod without a node": (kind("Pod"), {"spec": {}}, "spec.nodeName=", True),
    "boolean field of a pod": (kind("Pod"), POD, "spec.hostNetwork=true", True),
    "address of a pod": (kind("Pod"), POD, "status.podIP=10.0.0.1", True),
    "boolean field of a node": (kind("Node"), {"spec": {}}, "spec.unschedulable=false", True),
    "phase of a namespace": (kind("Namespace"), {"status": {"phase": "Active"}}, "status.phase=Active", True),
    "type of a secret": (kind("Secret"), {"type": "Opaque"}, "type=Opaque", True),
    "type of a service": (kind("Service"), {"spec": {"type": "ClusterIP"}}, "spec.type=NodePort", False),
    "selector of kubectl describe": (
        kind("Event"),
        EVENT,
        "involvedObject.name=vm,involvedObject.namespace=n,involvedObject.kind=VirtualMachine,involvedObject.uid=1",
        True,
    ),
    "source of an event": (kind("Event"), EVENT, "source=virtshape,type=Normal,reason=Started", True),
    "source of an event without a reporting component": (
        kind("Event"),
        {"source": {"component": "t"}},
        "source=t",
        True,
    ),
    "escapes": (kind("Secret"), {"type": r"a,b=c\d"}, r"type=a\,b\=c\\d", True),
}

REFUSED: dict[str, tuple[Kind, str, str]] = {
    "field of an event": (kind("Event"), "involvedObject.nope=x", "field label not supported: involvedObject.nope"),
    "field of a VM": (VM, "spec.running=true", "field label not supported: spec.running"),
    "field of a kind without field selectors": (
        kind("ConfigMap"),
        "data=x",
        '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
    "no operator": (VM, "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    "unescaped": (VM, "metadata.name=a=b", "invalid field selector: unescaped character in value: ="),
    "broken escape": (VM, r"metadata.name=\a", r"invalid field selector: invalid escape sequence: \a"),
    "escape at the end": (VM, "metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
}


@pytest.mark.parametrize(("kind", "tree", "text", "expected"), CASES.values(), ids=CASES)
def test_field_selector_matches_as_in_kubernetes(kind: Kind, tree: JsonObject, text: str, expected: bool) -> None:
    assert compile_terms(parse_field_selector(text, kind), kind)(tree) is expected


@pytest.mark.parametrize(("kind", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_field_selector_is_rejected(kind: Kind, text: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_field_selector(text, kind)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)
