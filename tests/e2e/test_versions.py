"""One object, read and written at two versions."""

import json

from tests.e2e.kubectl import Kubectl
from tests.e2e.manifests import SIZES, build_size

OLDER = f"virtualmachineinstancetypes.v1beta1.{SIZES}"
NEWER = f"virtualmachineinstancetypes.v1beta2.{SIZES}"


def test_two_clients_see_each_others_changes_at_their_own_version(kubectl: Kubectl) -> None:
    kubectl.apply(build_size(version="v1beta1"))
    older = kubectl.get(OLDER, "small")
    newer = kubectl.get(NEWER, "small")
    assert older["apiVersion"] == f"{SIZES}/v1beta1"
    assert newer["apiVersion"] == f"{SIZES}/v1beta2"
    assert older["metadata"]["uid"] == newer["metadata"]["uid"]
    assert older["metadata"]["resourceVersion"] == newer["metadata"]["resourceVersion"]
    assert older["spec"] == newer["spec"]

    kubectl.apply(build_size(version="v1beta2", vcpus=4))
    assert kubectl.get(OLDER, "small")["spec"]["cpu"] == {"guest": 4}
    kubectl.apply(build_size(version="v1beta1", vcpus=8))
    assert kubectl.get(NEWER, "small")["spec"]["cpu"] == {"guest": 8}


def test_fields_applied_at_one_version_are_owned_at_the_other(kubectl: Kubectl) -> None:
    words = ("--server-side", "--field-manager")
    kubectl.apply(build_size(version="v1beta1"), words=(*words, "alice"))
    newer = build_size(version="v1beta2", vcpus=4)
    ran = kubectl.run("apply", *words, "bob", "-f", "-", stdin=json.dumps(newer))
    assert ran.status != 0
    assert 'conflict with "alice"' in ran.err
    kubectl.apply(newer, words=(*words, "alice"))
    assert kubectl.get(OLDER, "small")["spec"]["cpu"] == {"guest": 4}


def test_omitted_size_is_accepted_only_at_the_newest_version(kubectl: Kubectl) -> None:
    open_size = build_size(version="v1beta2")
    open_size["spec"] = {}
    kubectl.apply(open_size)
    open_size["apiVersion"] = f"{SIZES}/v1beta1"
    open_size["metadata"]["name"] = "other"
    refusal = kubectl.refused("create", "--validate=false", "-f", "-", stdin=json.dumps(open_size))
    assert "spec.cpu" in refusal


def test_deprecated_versions_warn(kubectl: Kubectl) -> None:
    tree = build_size(version="v1alpha2")
    ran = kubectl.run("apply", "-f", "-", stdin=json.dumps(tree))
    assert ran.status == 0, ran.err
    assert "deprecated" in ran.err
