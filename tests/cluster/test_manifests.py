"""A real API server accepts the output of `virtshape manifests` in one apply, without warnings, any number of times."""

import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.install import (
    print_manifests,
    read_lines,
    remove_webhooks,
    retry,
    wait_for_definitions,
    wait_for_kinds,
)
from tests.support.kubectl import Kubectl
from tests.support.releases import find_install_line

from virtshape.api.yaml import write_yaml

VARIANTS = {
    "default": (),
    "all options": ("--catalog", "--cdi"),
    "no runtime": ("--runtime=none",),
    "no console": ("--console=false",),
    "other namespace and image": ("--namespace=vms", "--image=example.com:5000/a/virtshape:2", "--replicas=3"),
    "cert-manager": ("--webhook-cert=cert-manager",),
    "monitored": ("--service-monitor",),
}
STAND_INS = {
    "cert-manager.io": ("Certificate", "Issuer"),
    "monitoring.coreos.com": ("ServiceMonitor",),
}


def define_fake_kind(group: str, kind: str) -> dict[str, Any]:
    """Return a stand-in for a CRD of another project, which accepts any fields."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def list_changed(done: dict[str, str]) -> list[str]:
    """Return the changed objects, except PodDisruptionBudgets, whose selectors kubectl replaces every time."""
    return [name for name, what in done.items() if what != "unchanged" and "poddisruptionbudget" not in name]


@pytest.fixture(scope="module")
def bare(cluster: Kubectl) -> Kubectl:
    """A cluster with the CRDs of other projects."""
    stand_ins = [define_fake_kind(group, kind) for group, kinds in STAND_INS.items() for kind in kinds]
    cluster.apply(*stand_ins)
    wait_for_definitions(cluster, [tree["metadata"]["name"] for tree in stand_ins])
    return cluster


@pytest.fixture
def quiet(bare: Kubectl) -> Iterator[Kubectl]:
    """The cluster of `bare`, whose webhook configurations are removed after the test."""
    yield bare
    remove_webhooks(bare)


@pytest.mark.parametrize("arguments", VARIANTS.values(), ids=VARIANTS.keys())
def test_manifests_are_accepted_in_one_apply(quiet: Kubectl, arguments: tuple[str, ...]) -> None:
    text = print_manifests(*arguments)
    ran = quiet.run("apply", "-f", "-", stdin=text)
    assert (ran.status, ran.err) == (0, "")
    assert len(read_lines(ran.out)) == text.count("\n---\n") + 1
    wait_for_kinds(quiet)


def test_install_line_of_the_readme_applies_the_manifests_of_a_release(quiet: Kubectl, tmp_path: Path) -> None:
    """The line is run as it is written, with this kubectl."""
    (tmp_path / f"virtshape-manifests-{version('virtshape')}.yaml").write_text(print_manifests("--catalog"))
    (tmp_path / "kubectl").symlink_to(quiet.path)
    environment = quiet.environment | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    line = ["bash", "-ec", find_install_line("kubectl ")]
    ran = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "deployment.apps/virtshape-webhook" in ran.stdout


def test_second_apply_of_the_manifests_as_yaml_or_json_changes_nothing(quiet: Kubectl) -> None:
    quiet("apply", "-f", "-", stdin=print_manifests())
    for form in ("yaml", "json"):
        ran = quiet.run("apply", "-f", "-", stdin=print_manifests("-o", form))
        assert (ran.status, ran.err) == (0, "")
        assert list_changed(read_lines(ran.out)) == []


def test_manifests_can_be_applied_server_side(quiet: Kubectl) -> None:
    ran = quiet.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=print_manifests("--cdi"))
    assert (ran.status, ran.err) == (0, "")


def test_tools_only_manifest_needs_none_of_our_crds(quiet: Kubectl) -> None:
    ran = quiet.run("apply", "-f", "-", stdin=print_manifests("--with-kubevirt"))
    assert (ran.status, ran.err) == (0, "")
    kinds = {name.partition("/")[0].partition(".")[0] for name in read_lines(ran.out)}
    assert kinds == {"namespace", "serviceaccount", "clusterrole", "clusterrolebinding"}


FLOWS = {
    "lease": ("controller", "/apis/coordination.k8s.io/v1/namespaces/virtshape-system/leases/a", "virtshape-leases"),
    "list": ("controller", "/apis/kubevirt.io/v1/virtualmachines", "virtshape"),
    "get": ("webhook", "/api/v1/namespaces/default/persistentvolumeclaims/a", "virtshape"),
}


@pytest.mark.parametrize(("component", "path", "flow"), FLOWS.values(), ids=FLOWS.keys())
def test_request_of_a_component_matches_the_flow_schema_of_the_manifests(
    quiet: Kubectl, component: str, path: str, flow: str
) -> None:
    quiet("apply", "-f", "-", stdin=print_manifests())
    account = f"--as=system:serviceaccount:virtshape-system:virtshape-{component}"

    def check() -> None:  # a FlowSchema takes effect asynchronously
        schema = quiet.get("flowschema", flow)
        conditions = {each["type"]: each["status"] for each in schema["status"]["conditions"]}
        assert conditions == {"Dangling": "False"}
        asked = quiet.run("get", "--raw", path, account, "--as-group=system:serviceaccounts", "-v=8")
        assert schema["metadata"]["uid"] in asked.err, asked.err

    retry(check)


def test_pods_are_admitted_under_the_restricted_policy(quiet: Kubectl) -> None:
    quiet("apply", "-f", "-", stdin=print_manifests())
    for component in ("webhook", "controller", "apiserver", "console"):
        template = quiet.in_namespace("virtshape-system").get("deployment", f"virtshape-{component}")["spec"][
            "template"
        ]
        metadata = {"name": f"try-{component}", "namespace": "virtshape-system", **template["metadata"]}
        pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}
        ran = quiet.in_namespace("virtshape-system").run("create", "--dry-run=server", "-f", "-", stdin=write_yaml(pod))
        assert (ran.status, ran.err) == (0, "")


def test_write_without_a_reachable_webhook_is_rejected_with_a_reason(quiet: Kubectl, namespace: str) -> None:
    quiet("apply", "-f", "-", stdin=print_manifests())
    wait_for_kinds(quiet)
    flavor = {
        "apiVersion": "flavor.kubevirt.io/v1alpha1",
        "kind": "VirtualMachineFlavor",
        "metadata": {"name": "small"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    }
    kubectl, text = quiet.in_namespace(namespace), write_yaml(flavor)
    message = 'failed calling webhook "flavor.validate.virtshape.io"'

    def check() -> None:  # webhook configurations and their namespace selectors take effect asynchronously
        assert message in kubectl.run_rejected("create", "--dry-run=server", "-f", "-", stdin=text)

    retry(check)
    assert message in kubectl.run_rejected("apply", "-f", "-", stdin=text)
    kubectl("label", "namespace", namespace, "virtshape.io/admission=ignore")
    assert "created" in retry(lambda: kubectl("apply", "-f", "-", stdin=text))
    kubectl("label", "namespace", namespace, "virtshape.io/admission-")
    assert "labeled" in kubectl("label", "virtualmachineflavor", "small", "a=b")
