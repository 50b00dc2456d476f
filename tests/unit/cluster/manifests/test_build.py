"""Complete manifests of an installation: order, security, permissions and component arguments."""

import json
from itertools import chain
from typing import get_args

import pytest
from tests.support.rendering import identify

from virtshape.api.model import JsonObject
from virtshape.cli.virtshape import virtshape
from virtshape.cluster.manifests.build import build_manifests, build_parts
from virtshape.cluster.manifests.deployments import list_arguments
from virtshape.cluster.manifests.naming import Component
from virtshape.cluster.manifests.options import Options, WebhookCert

COMPONENTS: tuple[Component, ...] = get_args(Component)
CHOICES = {
    "default": Options(),
    "everything": Options(catalog=True, cdi=True, service_monitor=True),
    "cert-manager": Options(webhook_cert="cert-manager"),
    "no runtime": Options(runtime="none"),
    "no console": Options(console=False),
    "with KubeVirt": Options(with_kubevirt=True),
    "with KubeVirt and the catalog": Options(with_kubevirt=True, catalog=True),
    "configuration namespace": Options(namespace="kubevirt"),
}
MAX_ANNOTATION_BYTES = 262_144
"""Maximum bytes of annotations; `kubectl apply` stores the manifest in one of them."""
every_choice = pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES.keys())


@every_choice
def test_manifest_objects_are_unique_and_labelled(options: Options) -> None:
    for tree in identify(build_manifests(options)).values():
        if not tree["apiVersion"].startswith("instancetype.kubevirt.io"):
            assert tree["metadata"]["labels"]["app.kubernetes.io/part-of"] == "virtshape", tree["metadata"]


@every_choice
def test_manifests_list_dependencies_first(options: Options) -> None:
    seen: set[tuple[str, str]] = set()
    for tree in build_manifests(options):
        namespace = tree["metadata"].get("namespace", "kube-system")
        assert namespace == "kube-system" or ("Namespace", namespace) in seen
        if tree["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            accounts = [subject["name"] for subject in tree["subjects"] if subject["kind"] == "ServiceAccount"]
            assert all(("ServiceAccount", name) in seen for name in accounts)
        if tree["kind"] == "Deployment":
            spec = tree["spec"]["template"]["spec"]
            assert ("ServiceAccount", spec["serviceAccountName"]) in seen
            assert "priorityClassName" not in spec or ("PriorityClass", spec["priorityClassName"]) in seen
        seen.add((tree["kind"], tree["metadata"]["name"]))


def test_manifests_list_webhook_configurations_last() -> None:
    kinds = [tree["kind"] for tree in build_manifests(Options(cdi=True))]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_manifests_contain_no_custom_resources_of_their_own_crds() -> None:
    """With such objects, the first `kubectl apply` fails, because it resolves all kinds before it applies anything."""
    own = {tree["spec"]["group"] for tree in build_parts(Options(cdi=True))["crds"]}
    trees = build_manifests(Options(cdi=True, catalog=True))
    assert [tree["kind"] for tree in trees if tree["apiVersion"].partition("/")[0] in own] == []


def test_crds_fit_into_the_last_applied_annotation() -> None:
    for tree in build_parts(Options(cdi=True, webhook_cert="cert-manager"))["crds"]:
        size = len(json.dumps(tree, separators=(",", ":")).encode())
        assert size < MAX_ANNOTATION_BYTES - 1024, tree["metadata"]["name"]


def list_rules(options: Options) -> list[tuple[str, JsonObject]]:
    roles = [tree for tree in build_manifests(options) if tree["kind"] in ("Role", "ClusterRole")]
    return [(tree["kind"], rule) for tree in roles for rule in tree.get("rules", ())]


@every_choice
def test_no_role_has_wildcard_permissions(options: Options) -> None:
    for kind, rule in list_rules(options):
        assert "*" not in rule["verbs"]
        assert "*" not in rule["apiGroups"]
        if "*" in rule["resources"]:
            assert {"get", "list", "watch"} >= set(rule["verbs"])
        if "secrets" in rule["resources"]:
            assert (kind, len(rule["resourceNames"])) == ("Role", 1)


def test_controller_has_no_pod_permissions_without_a_runtime() -> None:
    resources = chain.from_iterable(rule["resources"] for _, rule in list_rules(Options(runtime="none")))
    assert not {"pods", "pods/exec"} & set(resources)


def test_console_account_may_only_renew_its_own_certificate() -> None:
    console = build_parts(Options())["console"]
    roles = {tree["kind"]: tree for tree in console if tree["apiVersion"].startswith("rbac")}
    assert roles.keys() == {"Role", "RoleBinding"}
    (rule,) = roles["Role"]["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["secrets"], ["virtshape-console-tls"])
    with_cert_manager = build_manifests(Options(webhook_cert="cert-manager"))
    bound = [subject["name"] for tree in with_cert_manager for subject in tree.get("subjects", ())]
    assert "virtshape-console" not in bound


def test_web_console_has_one_replica_because_sessions_are_in_memory() -> None:
    (deployment,) = (tree for tree in build_parts(Options(replicas=3))["console"] if tree["kind"] == "Deployment")
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})


@pytest.mark.parametrize("issuer", ["self-signed", "cert-manager"])
def test_certificate_of_the_console_contains_its_host_name(issuer: WebhookCert) -> None:
    options = Options(webhook_cert=issuer, console_host="vms.example.com")
    certificates = [tree for tree in build_parts(options)["console"] if tree["kind"] == "Certificate"]
    in_certificate = "vms.example.com" in chain.from_iterable(tree["spec"]["dnsNames"] for tree in certificates)
    in_arguments = "--host=vms.example.com" in list_arguments("console", options)
    assert (in_arguments, in_certificate) == (issuer == "self-signed", issuer == "cert-manager")


def test_manifests_without_the_console_contain_none_of_its_objects() -> None:
    assert build_parts(Options(console=False))["console"] == []
    assert "console" not in json.dumps([tree["metadata"] for tree in build_manifests(Options(console=False))])


def list_pods(options: Options) -> list[JsonObject]:
    return [tree["spec"]["template"]["spec"] for tree in build_manifests(options) if tree["kind"] == "Deployment"]


@pytest.mark.parametrize("pod", list_pods(Options()), ids=COMPONENTS)
def test_pods_comply_with_the_restricted_security_standard(pod: JsonObject) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert container["resources"].keys() == {"requests", "limits"}
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()


def test_all_webhooks_have_the_expected_failure_policy() -> None:
    for configuration in build_parts(Options(cdi=True))["webhooks"]:
        for webhook in configuration["webhooks"]:
            only_warns = webhook["name"] == "revision.delete.virtshape.io"
            assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Ignore" if only_warns else "Fail", "None")
            assert 1 <= webhook["timeoutSeconds"] <= 10
            assert webhook["admissionReviewVersions"] == ["v1"]
            assert webhook["namespaceSelector"]["matchExpressions"]
            mutating = configuration["kind"].startswith("Mutating")
            assert webhook.get("reinvocationPolicy") == ("IfNeeded" if mutating else None)


@pytest.mark.parametrize("component", COMPONENTS)
@every_choice
def test_components_accept_the_arguments_in_their_manifests(component: Component, options: Options) -> None:
    name, *arguments = list_arguments(component, options)
    context = virtshape.make_context("virtshape", [name])
    command = virtshape.get_command(context, name)
    assert command is not None, f"`virtshape {name}` does not exist"
    command.make_context(name, arguments)


def test_manifests_alongside_kubevirt_contain_none_of_its_objects() -> None:
    plain = {tree["kind"] for tree in build_manifests(Options(with_kubevirt=True))}
    assert plain == {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    catalog = build_parts(Options(with_kubevirt=True, catalog=True))["catalog"]
    assert {tree["apiVersion"] for tree in catalog} == {"instancetype.kubevirt.io/v1beta1"}
