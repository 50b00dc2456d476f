"""Permissions on a real API server: components have only the permissions they need, and users those of their roles."""

from collections.abc import Iterator

import pytest
from tests.cluster.install import print_manifests, remove_webhooks, retry, wait_for_kinds
from tests.support.controlplane import ControlPlane
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.usefixtures("installed")
SYSTEM = "virtshape-system"
COMPONENTS = ("webhook", "controller", "apiserver", "console")


@pytest.fixture(scope="module")
def installed(cluster: Kubectl) -> Iterator[Kubectl]:
    cluster("apply", "-f", "-", stdin=print_manifests("--cdi", "--catalog"))
    wait_for_kinds(cluster)
    yield cluster
    remove_webhooks(cluster)


def may(plane: ControlPlane, user: str, question: str, namespace: str = "default", *groups: str) -> bool:
    """Return True if the API server allows a request, written as `verb resource[.group][/subresource][:name]`."""
    verb, what = question.split()
    what, _, name = what.partition(":")
    what, _, subresource = what.partition("/")
    resource, _, group = what.partition(".")
    wanted = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}
    spec = {"user": user, "groups": groups, "resourceAttributes": wanted | {"namespace": namespace}}
    code, review = plane.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    assert code == 201, review
    allowed: bool = review["status"]["allowed"]
    return allowed


def name_account(component: str) -> str:
    return f"system:serviceaccount:{SYSTEM}:virtshape-{component}"


NEEDED = {
    "webhook": (
        "watch virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "watch virtualmachineflavors.flavor.kubevirt.io",
        "list virtualmachines.kubevirt.io",
        "get controllerrevisions.apps",
        "get persistentvolumeclaims",
        "get datasources.cdi.kubevirt.io",
        "watch kubevirts.kubevirt.io",
        "create subjectaccessreviews.authorization.k8s.io",
        "patch mutatingwebhookconfigurations.admissionregistration.k8s.io:virtshape",
        "patch validatingwebhookconfigurations.admissionregistration.k8s.io:virtshape",
        "patch customresourcedefinitions.apiextensions.k8s.io:virtualmachinepreferences.instancetype.kubevirt.io",
    ),
    "controller": (
        "update virtualmachines.kubevirt.io",
        "update virtualmachines.kubevirt.io/status",
        "create virtualmachineinstances.kubevirt.io",
        "delete virtualmachineinstances.kubevirt.io",
        "create controllerrevisions.apps",
        "create datavolumes.cdi.kubevirt.io",
        "create events",
        "create pods",
        "delete pods",
        "create pods/exec",
        "watch nodes",
        "create kubevirts.kubevirt.io",
        "create virtualmachineclusterpreferences.instancetype.kubevirt.io",
    ),
    "apiserver": (
        "patch virtualmachines.kubevirt.io",
        "patch virtualmachines.kubevirt.io/status",
        "watch virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "get pods",
        "list pods",
        "list nodes",
        "create pods/exec",
        "create subjectaccessreviews.authorization.k8s.io",
        "create tokenreviews.authentication.k8s.io",
        "patch apiservices.apiregistration.k8s.io:v1.subresources.kubevirt.io",
    ),
}
FOR_NOBODY = (
    "get secrets",
    "list secrets",
    "create secrets",
    "create clusterrolebindings.rbac.authorization.k8s.io",
    "escalate clusterroles.rbac.authorization.k8s.io",
    "impersonate users",
    "create serviceaccounts/token",
    "delete customresourcedefinitions.apiextensions.k8s.io",
    "patch customresourcedefinitions.apiextensions.k8s.io:virtualmachines.kubevirt.io",
    "patch mutatingwebhookconfigurations.admissionregistration.k8s.io:other",
    "delete namespaces",
    "update nodes",
    "create virtualmachines.kubevirt.io",
    "delete virtualmachines.kubevirt.io",
    "delete persistentvolumeclaims",
)
NOT_FOR = {
    "webhook": ("update virtualmachines.kubevirt.io", "list pods", "create pods/exec", "create events", "list nodes"),
    "controller": (
        "patch mutatingwebhookconfigurations.admissionregistration.k8s.io:virtshape",
        "delete virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "update virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "create subjectaccessreviews.authorization.k8s.io",
        "update pods",
    ),
    "apiserver": (
        "create virtualmachineinstances.kubevirt.io",
        "delete virtualmachineinstances.kubevirt.io",
        "create pods",
        "delete pods",
    ),
    "console": (
        "get virtualmachines.kubevirt.io",
        "list virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "list namespaces",
        "list pods",
        "create subjectaccessreviews.authorization.k8s.io",
        "update explain-vm-spec.subresources.kubevirt.io",
    ),
}


def test_components_have_the_required_permissions(plane: ControlPlane) -> None:
    def check() -> None:  # RBAC changes take effect asynchronously
        for component, questions in NEEDED.items():
            user = name_account(component)
            assert [question for question in questions if not may(plane, user, question)] == [], component

    retry(check)


def test_components_lack_the_listed_permissions(plane: ControlPlane) -> None:
    for component in COMPONENTS:
        user = name_account(component)
        refused = (*FOR_NOBODY, *NOT_FOR[component])
        assert [question for question in refused if may(plane, user, question)] == [], component


OWN_NAMESPACE: dict[str, tuple[str, str, bool]] = {
    "webhook updates its certificate": ("webhook", "update secrets:virtshape-webhook-tls", True),
    "webhook watches its certificate": ("webhook", "watch secrets:virtshape-webhook-tls", True),
    "webhook reads no other Secret": ("webhook", "get secrets:virtshape-apiserver-tls", False),
    "aggregated API updates its certificate": ("apiserver", "update secrets:virtshape-apiserver-tls", True),
    "controller renews its lease": ("controller", "update leases.coordination.k8s.io:virtshape-controller", True),
    "controller creates its lease": ("controller", "create leases.coordination.k8s.io", True),
    "controller updates no other lease": ("controller", "update leases.coordination.k8s.io:other", False),
    "console updates its certificate": ("console", "update secrets:virtshape-console-tls", True),
    "console reads no other Secret": ("console", "get secrets:virtshape-webhook-tls", False),
    "controller reads no Secret": ("controller", "get secrets:virtshape-webhook-tls", False),
}


@pytest.mark.parametrize(("component", "question", "answer"), OWN_NAMESPACE.values(), ids=OWN_NAMESPACE.keys())
def test_component_has_only_the_required_permissions_in_its_own_namespace(
    plane: ControlPlane, component: str, question: str, answer: bool
) -> None:
    def check() -> None:  # RBAC changes take effect asynchronously
        assert may(plane, name_account(component), question, SYSTEM) is answer

    retry(check)


def test_aggregated_api_but_not_the_webhook_may_read_the_client_ca(plane: ControlPlane) -> None:
    question = "get configmaps:extension-apiserver-authentication"

    def check() -> None:  # RBAC changes take effect asynchronously
        assert may(plane, name_account("apiserver"), question, "kube-system")

    retry(check)
    assert not may(plane, name_account("webhook"), question, "kube-system")


SUBRESOURCES = "subresources.kubevirt.io"
USER_ROLES = {
    "get virtualmachines.kubevirt.io": ("view", "edit", "admin"),
    "list virtualmachineinstancetypes.instancetype.kubevirt.io": ("view", "edit", "admin"),
    "get datavolumes.cdi.kubevirt.io": ("view", "edit", "admin"),
    f"get virtualmachines.{SUBRESOURCES}/expand-spec": ("view", "edit", "admin"),
    f"update explain-vm-spec.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update check-compatibility.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update check-fit.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update customize-instancetype.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update preview-import.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update preview-migrate-type.{SUBRESOURCES}": ("view", "edit", "admin"),
    f"update recommend-instancetypes.{SUBRESOURCES}": ("view", "edit", "admin"),
    "create virtualmachines.kubevirt.io": ("edit", "admin"),
    "patch virtualmachinepreferences.instancetype.kubevirt.io": ("edit", "admin"),
    f"update virtualmachines.{SUBRESOURCES}/start": ("edit", "admin"),
    f"get virtualmachineinstances.{SUBRESOURCES}/console": ("edit", "admin"),
    "deletecollection virtualmachines.kubevirt.io": ("admin",),
    "update virtualmachines.kubevirt.io/status": (),
}


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_user_role_grants_exactly_the_listed_permissions(
    installed: Kubectl, plane: ControlPlane, namespace: str, role: str
) -> None:
    kubectl = installed.in_namespace(namespace)
    kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er")

    def check() -> None:  # role aggregation is asynchronous
        allowed = {question for question in USER_ROLES if may(plane, f"{role}er", question, namespace)}
        assert allowed == {question for question, roles in USER_ROLES.items() if role in roles}

    retry(check)


def test_every_user_may_read_but_not_change_cluster_instancetypes(plane: ControlPlane) -> None:
    sizes = "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"
    answers = {
        f"list {sizes}": True,
        f"get version.{SUBRESOURCES}": True,
        f"update {sizes}": False,
        "list virtualmachines.kubevirt.io": False,
    }

    def check() -> None:  # RBAC changes take effect asynchronously
        reported = {question: may(plane, "somebody", question, "", "system:authenticated") for question in answers}
        assert reported == answers

    retry(check)


def test_kubectl_auth_can_i_reports_permissions_on_vms(installed: Kubectl, namespace: str) -> None:
    kubectl = installed.in_namespace(namespace)
    kubectl("create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann")
    retry(lambda: kubectl("auth", "can-i", "create", "vm", "--as=ann"))
    assert kubectl.run("auth", "can-i", "create", "vm", "--as=bob").out == "no\n"


def test_tools_service_account_has_read_only_access(installed: Kubectl, plane: ControlPlane) -> None:
    installed("apply", "-f", "-", stdin=print_manifests("--with-kubevirt"))
    user = f"system:serviceaccount:{SYSTEM}:virtshape-tools"
    reading = ("list virtualmachines.kubevirt.io", "get controllerrevisions.apps", "get datasources.cdi.kubevirt.io")

    def check() -> None:
        assert all(may(plane, user, question) for question in reading)

    retry(check)
    changing = ("create", "update", "patch", "delete")
    assert not any(may(plane, user, f"{verb} virtualmachines.kubevirt.io") for verb in changing)
    assert not may(plane, user, "get secrets")
