"""Objects that are read and written at two API versions."""

import json

from tests.support.kubectl import Kubectl
from tests.support.smallmanifests import SIZES, build_instancetype

OLDER = f"virtualmachineinstancetypes.v1beta1.{SIZES}"
NEWER = f"virtualmachineinstancetypes.v1beta2.{SIZES}"


def test_instancetype_is_read_and_changed_at_two_versions(kubectl: Kubectl) -> None:
    kubectl.apply(build_instancetype(version="v1beta1"))
    older = kubectl.get(OLDER, "small")
    newer = kubectl.get(NEWER, "small")
    assert older["apiVersion"] == f"{SIZES}/v1beta1"
    assert newer["apiVersion"] == f"{SIZES}/v1beta2"
    assert older["metadata"]["uid"] == newer["metadata"]["uid"]
    assert older["metadata"]["resourceVersion"] == newer["metadata"]["resourceVersion"]
    assert older["spec"] == newer["spec"]

    kubectl.apply(build_instancetype(version="v1beta2", vcpus=4))
    assert kubectl.get(OLDER, "small")["spec"]["cpu"] == {"guest": 4}
    kubectl.apply(build_instancetype(version="v1beta1", vcpus=8))
    assert kubectl.get(NEWER, "small")["spec"]["cpu"] == {"guest": 8}


def test_field_ownership_is_visible_at_both_api_versions(kubectl: Kubectl) -> None:
    arguments = ("--server-side", "--field-manager")
    kubectl.apply(build_instancetype(version="v1beta1"), arguments=(*arguments, "alice"))
    newer = build_instancetype(version="v1beta2", vcpus=4)
    result = kubectl.run("apply", *arguments, "bob", "-f", "-", stdin=json.dumps(newer))
    assert result.status != 0
    assert 'conflict with "alice"' in result.err
    kubectl.apply(newer, arguments=(*arguments, "alice"))
    assert kubectl.get(OLDER, "small")["spec"]["cpu"] == {"guest": 4}


def test_omitted_size_is_accepted_only_at_the_newest_version(kubectl: Kubectl) -> None:
    open_size = build_instancetype(version="v1beta2")
    open_size["spec"] = {}
    kubectl.apply(open_size)
    open_size["apiVersion"] = f"{SIZES}/v1beta1"
    open_size["metadata"]["name"] = "other"
    refusal = kubectl.run_rejected("create", "--validate=false", "-f", "-", stdin=json.dumps(open_size))
    assert "spec.cpu" in refusal


def test_deprecated_api_versions_cause_a_warning(kubectl: Kubectl) -> None:
    tree = build_instancetype(version="v1alpha2")
    result = kubectl.run("apply", "-f", "-", stdin=json.dumps(tree))
    assert result.status == 0, result.err
    assert "deprecated" in result.err
