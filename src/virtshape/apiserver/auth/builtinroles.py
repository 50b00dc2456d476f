"""
Built-in roles and bindings, which are created in a new data directory.

Names and permissions match those in Kubernetes and KubeVirt, limited to the kinds that this server has.
"""

from collections.abc import Mapping, Sequence

from virtshape.api.meta import LabelSelector, ObjectMeta
from virtshape.api.rbac import (
    AggregationRule,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    RoleRef,
    Subject,
)
from virtshape.api.wellknown import BOOTSTRAPPING_LABEL
from virtshape.apiserver.auth.authentication import AUTHENTICATED, MASTERS
from virtshape.apiserver.auth.authorization import RBAC_GROUP
from virtshape.apiserver.auth.rules import EVERYTHING

RBAC_VERSION = f"{RBAC_GROUP}/v1"
UNAUTHENTICATED = "system:unauthenticated"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_CHANGE = ("create", "delete", "patch", "update")

_OWN_KINDS = {
    "kubevirt.io": ("virtualmachines", "virtualmachineinstances"),
    "instancetype.kubevirt.io": (
        "virtualmachineinstancetypes",
        "virtualmachineclusterinstancetypes",
        "virtualmachinepreferences",
        "virtualmachineclusterpreferences",
    ),
    "flavor.kubevirt.io": (
        "virtualmachineflavors",
        "virtualmachineclusterflavors",
        "virtualmachineflavorpreferences",
        "virtualmachineclusterflavorpreferences",
    ),
}
_DISK_KINDS = {"cdi.kubevirt.io": ("datavolumes", "datasources"), "snapshot.storage.k8s.io": ("volumesnapshots",)}
_CLUSTER_SIZES = {
    "instancetype.kubevirt.io": ("virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences"),
    "flavor.kubevirt.io": ("virtualmachineclusterflavors", "virtualmachineclusterflavorpreferences"),
}
_WORKLOADS = (
    "configmaps",
    "events",
    "persistentvolumeclaims",
    "pods",
    "serviceaccounts",
    "services",
)
_WORKLOAD_DETAILS = ("namespaces", "namespaces/status", "persistentvolumeclaims/status", "pods/log", "pods/status")
_QUOTAS = ("resourcequotas", "resourcequotas/status")
_HEALTH_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_MONITORING_PATHS = ("/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/readyz", "/readyz/*")
_DISCOVERY_PATHS = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_HEALTH_PATHS)

_SUBRESOURCES = "subresources.kubevirt.io"
_CONSOLES = (
    "virtualmachineinstances/console",
    "virtualmachineinstances/consolelog",
    "virtualmachineinstances/portforward",
    "virtualmachineinstances/vnc",
    "virtualmachines/portforward",
)
_PREVIEWS = (
    "check-compatibility",
    "check-fit",
    "customize-instancetype",
    "explain-vm-spec",
    "preview-import",
    "preview-migrate-type",
    "recommend-instancetypes",
)
_AGENT_QUERIES = (
    "virtualmachineinstances/filesystemlist",
    "virtualmachineinstances/guestosinfo",
    "virtualmachineinstances/userlist",
)
_GUEST_ACTIONS = (
    "virtualmachineinstances/addvolume",
    "virtualmachineinstances/pause",
    "virtualmachineinstances/removevolume",
    "virtualmachineinstances/reset",
    "virtualmachineinstances/softreboot",
    "virtualmachineinstances/unpause",
    "virtualmachines/addvolume",
    "virtualmachines/removevolume",
    "virtualmachines/restart",
    "virtualmachines/start",
    "virtualmachines/stop",
)


def build_roles() -> list[ClusterRole]:
    """Return all built-in roles."""
    return [*_build_system_roles(), *_build_user_roles(), *_build_vm_roles(), *_build_disk_roles()]


def build_bindings() -> list[ClusterRoleBinding]:
    """Return all built-in bindings."""
    return [
        _binding("cluster-admin", MASTERS),
        _binding("system:discovery", AUTHENTICATED),
        _binding("system:basic-user", AUTHENTICATED),
        _binding("system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED),
        _binding("system:monitoring", "system:monitoring"),
        _binding("kubevirt.io:default", AUTHENTICATED),
        _binding("instancetype.kubevirt.io:view", AUTHENTICATED),
        _binding("cdi.kubevirt.io:config-reader", AUTHENTICATED),
    ]


def _build_system_roles() -> list[ClusterRole]:
    review = "authorization.k8s.io"
    return [
        _role("cluster-admin", EVERYTHING),
        _role("system:discovery", [PolicyRule(["get"], non_resource_urls=list(_DISCOVERY_PATHS))]),
        _role("system:public-info-viewer", [PolicyRule(["get"], non_resource_urls=list(_HEALTH_PATHS))]),
        _role("system:monitoring", [PolicyRule(["get"], non_resource_urls=list(_MONITORING_PATHS))]),
        _role(
            "system:basic-user",
            [
                _rule(review, ("selfsubjectaccessreviews", "selfsubjectrulesreviews"), "create"),
                _rule("authentication.k8s.io", ("selfsubjectreviews",), "create"),
            ],
        ),
        _role(
            "system:auth-delegator",
            [
                _rule(review, ("subjectaccessreviews",), "create"),
                _rule("authentication.k8s.io", ("tokenreviews",), "create"),
            ],
        ),
    ]


def _build_user_roles() -> list[ClusterRole]:
    """Return the aggregated roles `view`, `edit` and `admin`, and the roles whose rules they aggregate."""
    return [
        _aggregated_role("view", part_of="edit"),
        _aggregated_role("edit", part_of="admin"),
        _aggregated_role("admin"),
        _role(
            "system:aggregate-to-view",
            [
                _rule("", (*_WORKLOADS, *_WORKLOAD_DETAILS, *_QUOTAS), *_READ),
                _rule(
                    "apps", ("controllerrevisions", "deployments", "deployments/scale", "deployments/status"), *_READ
                ),
            ],
            part_of="view",
        ),
        _role(
            "system:aggregate-to-edit",
            [
                _rule("", _WORKLOADS, *_WRITE),
                _rule("", ("secrets",), *_READ, *_WRITE),
                _rule("", ("serviceaccounts",), "impersonate"),
                _rule("", ("serviceaccounts/token",), "create"),
                _rule("apps", ("deployments", "deployments/scale"), *_WRITE),
                _rule("coordination.k8s.io", ("leases",), *_READ, *_WRITE),
            ],
            part_of="edit",
        ),
        _role(
            "system:aggregate-to-admin",
            [
                _rule(RBAC_GROUP, ("roles", "rolebindings"), *_READ, *_WRITE),
                _rule("authorization.k8s.io", ("localsubjectaccessreviews",), "create"),
            ],
            part_of="admin",
        ),
    ]


def _build_vm_roles() -> list[ClusterRole]:
    use = [
        _rule(_SUBRESOURCES, _CONSOLES, "get"),
        _rule(_SUBRESOURCES, _AGENT_QUERIES, "get"),
        _rule(_SUBRESOURCES, _GUEST_ACTIONS, "update"),
        _rule(_SUBRESOURCES, ("expand-vm-spec", *_PREVIEWS), "update"),
        _rule(_SUBRESOURCES, ("virtualmachines/expand-spec",), "get"),
    ]
    look = [
        _rule(_SUBRESOURCES, (*_AGENT_QUERIES, "virtualmachines/expand-spec"), "get"),
        _rule(_SUBRESOURCES, _PREVIEWS, "update"),
    ]
    return [
        _role("kubevirt.io:admin", [*use, *_rules(_OWN_KINDS, *_READ, *_WRITE)], part_of="admin"),
        _role("kubevirt.io:edit", [*use, *_rules(_OWN_KINDS, *_READ, *_CHANGE)], part_of="edit"),
        _role("kubevirt.io:view", [*look, *_rules(_OWN_KINDS, *_READ)], part_of="view"),
        _role("kubevirt.io:default", [_rule(_SUBRESOURCES, ("version",), "get", "list")]),
        _role("instancetype.kubevirt.io:view", _rules(_CLUSTER_SIZES, *_READ)),
    ]


def _build_disk_roles() -> list[ClusterRole]:
    upload = _rule("upload.cdi.kubevirt.io", ("uploadtokenrequests",), "create")
    copy = _rule("cdi.kubevirt.io", ("datavolumes/source",), "create")
    return [
        _role("cdi.kubevirt.io:admin", [upload, copy, *_rules(_DISK_KINDS, *_READ, *_WRITE)], part_of="admin"),
        _role("cdi.kubevirt.io:edit", [upload, copy, *_rules(_DISK_KINDS, *_READ, *_CHANGE)], part_of="edit"),
        _role("cdi.kubevirt.io:view", [copy, *_rules(_DISK_KINDS, *_READ)], part_of="view"),
        _role("cdi.kubevirt.io:config-reader", [_rule("cdi.kubevirt.io", ("cdiconfigs",), *_READ)]),
    ]


def _rules(kinds: Mapping[str, tuple[str, ...]], *verbs: str) -> list[PolicyRule]:
    return [_rule(group, resources, *verbs) for group, resources in kinds.items()]


def _rule(group: str, resources: Sequence[str], *verbs: str) -> PolicyRule:
    return PolicyRule(verbs=list(verbs), api_groups=[group], resources=list(resources))


def _role(name: str, rules: Sequence[PolicyRule], part_of: str = "") -> ClusterRole:
    return ClusterRole(api_version=RBAC_VERSION, kind="ClusterRole", metadata=_meta(name, part_of), rules=list(rules))


def _aggregated_role(name: str, part_of: str = "") -> ClusterRole:
    selector = LabelSelector(match_labels={_label(name): "true"})
    return ClusterRole(
        api_version=RBAC_VERSION,
        kind="ClusterRole",
        metadata=_meta(name, part_of),
        aggregation_rule=AggregationRule([selector]),
    )


def _binding(role: str, *groups: str) -> ClusterRoleBinding:
    return ClusterRoleBinding(
        api_version=RBAC_VERSION,
        kind="ClusterRoleBinding",
        metadata=_meta(role),
        role_ref=RoleRef(api_group=RBAC_GROUP, kind="ClusterRole", name=role),
        subjects=[Subject(api_group=RBAC_GROUP, kind="Group", name=group) for group in groups],
    )


def _meta(name: str, part_of: str = "") -> ObjectMeta:
    labels = {BOOTSTRAPPING_LABEL: "rbac-defaults"}
    if part_of:
        labels[_label(part_of)] = "true"
    return ObjectMeta(name=name, labels=labels, annotations={"rbac.authorization.kubernetes.io/autoupdate": "true"})


def _label(role: str) -> str:
    return f"{RBAC_GROUP}/aggregate-to-{role}"
