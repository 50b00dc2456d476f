"""
Service accounts, roles and bindings of the components with least privilege, and roles for users.

Rules list the names of the objects they apply to wherever Kubernetes allows it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import BOOTSTRAPPING_LABEL
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.catalog.loader import names
from virtshape.cluster.manifests.crds import list_converted
from virtshape.cluster.manifests.naming import (
    SERVING,
    SYSTEM,
    Component,
    begin,
    label_release,
    name_component,
    name_secret,
)
from virtshape.cluster.manifests.options import Options

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
RBAC_VERSION: Final = f"{RBAC_GROUP}/v1"

READ: Final = ("get", "list", "watch")
_CHANGE: Final = ("update", "patch")
_MACHINES: Final = "kubevirt.io"
_SHAPES: Final = ("instancetype.kubevirt.io", "flavor.kubevirt.io")
_CLUSTER_SHAPES: Final = ("virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences")
_DISKS: Final = "cdi.kubevirt.io"
_USER_ROLE_PREFIXES: Final = ("kubevirt.io:", "instancetype.kubevirt.io:")
_DISK_ROLE_PREFIX: Final = "cdi.kubevirt.io:"
_REGISTRATION: Final = "admissionregistration.k8s.io"
_CONFIGURATIONS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def build_component_roles(components: Iterable[Component], options: Options) -> list[JsonObject]:
    """Return the service accounts, roles and bindings of components."""
    built = []
    for component in components:
        built.append(begin("v1", "ServiceAccount", name_component(component), options.namespace, component=component))
        built += _grant_cluster_wide(component, _list_rules(component, options), options.namespace)
        built += _grant_in_namespace(component, _list_namespace_rules(component, options), options.namespace)
    return built


def build_user_roles(options: Options) -> list[JsonObject]:
    """Return the roles that extend the cluster's `view`, `edit` and `admin`, and the bindings for all users."""
    prefixes = (*_USER_ROLE_PREFIXES, _DISK_ROLE_PREFIX) if options.cdi else _USER_ROLE_PREFIXES
    trees = [to_tree(item) for item in (*build_roles(), *build_bindings())]
    return [_relabel(tree) for tree in trees if tree["metadata"]["name"].startswith(prefixes)]


def _relabel(tree: JsonObject) -> JsonObject:
    """Return the role or binding with the installation's labels, and without the bootstrapping label."""
    metadata = tree["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != BOOTSTRAPPING_LABEL}
    return tree | {"metadata": {"name": metadata["name"], "labels": label_release() | labels}}


def rule(group: str, resources: Sequence[str], *verbs: str, names: Sequence[str] = ()) -> JsonObject:
    """Return one rule of a role, limited to the objects with these names if any are given."""
    tree: JsonObject = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return tree | ({"resourceNames": list(names)} if names else {})


def list_read_rules() -> list[JsonObject]:
    """Return the rules for reading the configuration and all objects that a VM can refer to."""
    return [
        rule(_MACHINES, ["virtualmachines", "virtualmachineinstances", "kubevirts"], *READ),
        *(rule(group, ["*"], *READ) for group in _SHAPES),
        rule("apps", ["controllerrevisions"], *READ),
        rule("", ["persistentvolumeclaims"], *READ),
        rule(_DISKS, ["datavolumes", "datasources"], *READ),
        rule("snapshot.storage.k8s.io", ["volumesnapshots"], *READ),
    ]


def _list_rules(component: Component, options: Options) -> list[JsonObject]:
    match component:
        case "webhook":
            return [*list_read_rules(), *_list_webhook_rules(options)]
        case "controller":
            return [*list_read_rules(), *_list_controller_rules(options)]
        case "apiserver":
            return [*list_read_rules(), *_list_apiserver_rules(options)]
        case "console":  # the console sends requests only with the tokens of its users
            return []


_CATALOG_KINDS: Final = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")


def _list_webhook_rules(options: Options) -> list[JsonObject]:
    rules = [rule("authorization.k8s.io", ["subjectaccessreviews"], "create")]
    if options.webhook_cert == "self-signed":
        rules += [
            rule(_REGISTRATION, _CONFIGURATIONS, "get", "patch", names=[SYSTEM]),
            rule("apiextensions.k8s.io", ["customresourcedefinitions"], "get", "patch", names=list_converted()),
        ]
    return rules


def _list_controller_rules(options: Options) -> list[JsonObject]:
    rules = [
        rule(_MACHINES, ["virtualmachines"], *_CHANGE),
        rule(_MACHINES, ["virtualmachineinstances"], "create", "delete", *_CHANGE),
        rule(_MACHINES, ["virtualmachines/status", "kubevirts/status"], *_CHANGE),
        rule(_MACHINES, ["virtualmachines/finalizers", "virtualmachineinstances/finalizers"], "update"),
        rule(_MACHINES, ["kubevirts"], "create"),
        rule("apps", ["controllerrevisions"], "create", "patch", "delete"),
        rule(_DISKS, ["datavolumes", "datavolumes/source"], "create"),
        rule("", ["events"], "get", "create", "patch"),
        rule("", ["nodes"], *READ),
    ]
    if options.runtime == "pod":
        rules.append(rule("", ["pods"], *READ, "create", "delete"))
        rules.append(rule("", ["pods/exec"], "get", "create"))
        rules.append(rule("", ["pods/resize"], "patch"))
        rules.append(rule("", ["persistentvolumeclaims"], "create"))
        rules.append(rule("", ["namespaces"], "get"))
    if options.catalog:
        rules.append(rule(_SHAPES[0], _CLUSTER_SHAPES, "create"))
        rules += [rule(_SHAPES[0], [f"{kind.lower()}s"], "delete", names=names(kind)) for kind in _CATALOG_KINDS]
    return rules


def _list_apiserver_rules(options: Options) -> list[JsonObject]:
    rules = []
    if options.runtime == "pod":
        rules += [rule("", ["pods"], "get", "patch"), rule("", ["pods/exec"], "get", "create")]
        rules.append(rule("", ["nodes", "pods"], "list"))  # the subresource check-fit counts free resources
    rules.append(rule(_MACHINES, ["virtualmachines", "virtualmachines/status"], *_CHANGE))
    if options.webhook_cert == "self-signed":
        names = [f"{version}.{ACTION_GROUP}" for version in ACTION_VERSIONS]
        rules.append(rule("apiregistration.k8s.io", ["apiservices"], "get", "patch", names=names))
    return rules


def _list_namespace_rules(component: Component, options: Options) -> list[JsonObject]:
    """Return the rules of a component in the installation's namespace."""
    if component == "controller":
        leases = ["leases"]
        return [
            rule("coordination.k8s.io", leases, "create"),
            rule("coordination.k8s.io", leases, *READ, *_CHANGE, names=[name_component(component)]),
        ]
    if component in SERVING and options.webhook_cert == "self-signed":
        return [rule("", ["secrets"], *READ, *_CHANGE, names=[name_secret(component)])]
    return []


def _grant_cluster_wide(component: Component, rules: list[JsonObject], namespace: str) -> list[JsonObject]:
    if not rules:
        return []
    name = name_component(component)
    return [
        {**begin(RBAC_VERSION, "ClusterRole", name, component=component), "rules": rules},
        bind("ClusterRoleBinding", name, "ClusterRole", name, component, namespace),
    ]


def _grant_in_namespace(component: Component, rules: list[JsonObject], namespace: str) -> list[JsonObject]:
    if not rules:
        return []
    name = name_component(component)
    return [
        {**begin(RBAC_VERSION, "Role", name, namespace, component=component), "rules": rules},
        bind("RoleBinding", name, "Role", name, component, namespace, within=namespace),
    ]


def build_delegation(options: Options) -> list[JsonObject]:
    """Return the bindings that allow the aggregated API to delegate authentication and authorization."""
    name, namespace = f"{name_component('apiserver')}-delegation", options.namespace
    reader = "extension-apiserver-authentication-reader"
    return [
        bind("ClusterRoleBinding", name, "ClusterRole", "system:auth-delegator", "apiserver", namespace),
        bind("RoleBinding", name, "Role", reader, "apiserver", namespace, within="kube-system"),
    ]


def bind(
    kind: str, name: str, role_kind: str, role: str, component: Component, namespace: str, *, within: str = ""
) -> JsonObject:
    """Return a binding of a role to a component's account, cluster-wide or in a namespace."""
    return {
        **begin(RBAC_VERSION, kind, name, within, component=component),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name_component(component), "namespace": namespace}],
    }
