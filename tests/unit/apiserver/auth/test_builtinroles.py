import pytest
from tests.support.rbac import BOB, RBAC, build_attributes, build_binding, is_allowed

from virtshape.api.codec import from_tree, to_tree
from virtshape.apiserver.auth.authorization import Attributes
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles

BUILT_IN: dict[str, tuple[str, Attributes, bool]] = {
    "view reads VMs": ("view", build_attributes("list"), True),
    "view cannot change VMs": ("view", build_attributes("update"), False),
    "view cannot start VMs": (
        "view",
        Attributes("update", "subresources.kubevirt.io", "virtualmachines", "start", "prod"),
        False,
    ),
    "view cannot read Secrets": ("view", Attributes("get", "", "secrets", "", "prod"), False),
    "edit starts VMs": (
        "edit",
        Attributes("update", "subresources.kubevirt.io", "virtualmachines", "start", "prod"),
        True,
    ),
    "edit creates VMs": ("edit", build_attributes("create"), True),
    "edit reads VMs": ("edit", build_attributes("watch"), True),
    "edit creates DataVolumes": ("edit", Attributes("create", "cdi.kubevirt.io", "datavolumes", "", "prod"), True),
    "edit creates upload tokens": (
        "edit",
        Attributes("create", "upload.cdi.kubevirt.io", "uploadtokenrequests", "", "prod"),
        True,
    ),
    "view cannot create upload tokens": (
        "view",
        Attributes("create", "upload.cdi.kubevirt.io", "uploadtokenrequests", "", "prod"),
        False,
    ),
    "edit cannot create role bindings": ("edit", Attributes("create", RBAC, "rolebindings", "", "prod"), False),
    "edit creates service account tokens": ("edit", Attributes("create", "", "serviceaccounts", "token", "prod"), True),
    "admin deletes collections of VMs": ("admin", build_attributes("deletecollection"), True),
    "admin creates role bindings": ("admin", Attributes("create", RBAC, "rolebindings", "", "prod"), True),
    "admin cannot change the namespace": ("admin", Attributes("update", "", "namespaces", "", "prod", "prod"), False),
    "admin has no access to other namespaces": ("admin", build_attributes("list", namespace="test"), False),
}


@pytest.mark.parametrize(("role", "wanted", "allowed"), BUILT_IN.values(), ids=BUILT_IN.keys())
def test_builtin_roles_grant_the_expected_permissions_in_a_namespace(
    role: str, wanted: Attributes, allowed: bool
) -> None:
    binding = build_binding("User/bob", f"ClusterRole/{role}", "prod")
    assert is_allowed(BOB, wanted, *build_roles(), *build_bindings(), binding) is allowed


EVERYONE: dict[str, tuple[Attributes, bool]] = {
    "cluster instance types": (
        Attributes("list", "instancetype.kubevirt.io", "virtualmachineclusterinstancetypes"),
        True,
    ),
    "instance types of a namespace": (
        Attributes("list", "instancetype.kubevirt.io", "virtualmachineinstancetypes", "", "prod"),
        False,
    ),
    "upload configuration": (Attributes("get", "cdi.kubevirt.io", "cdiconfigs", "", "", "config"), True),
    "update of the upload configuration": (
        Attributes("update", "cdi.kubevirt.io", "cdiconfigs", "", "", "config"),
        False,
    ),
    "discovery": (Attributes("get", path="/apis/kubevirt.io/v1"), True),
    "health": (Attributes("get", path="/readyz"), True),
    "version": (Attributes("get", "subresources.kubevirt.io", "version"), True),
    "other paths": (Attributes("get", path="/metrics"), False),
    "own access review": (Attributes("create", "authorization.k8s.io", "selfsubjectaccessreviews"), True),
    "own user information": (Attributes("create", "authentication.k8s.io", "selfsubjectreviews"), True),
    "access review of other users": (Attributes("create", "authorization.k8s.io", "subjectaccessreviews"), False),
}


@pytest.mark.parametrize(("wanted", "allowed"), EVERYONE.values(), ids=EVERYONE.keys())
def test_authenticated_users_have_exactly_the_default_permissions(wanted: Attributes, allowed: bool) -> None:
    assert is_allowed(BOB, wanted, *build_roles(), *build_bindings()) is allowed


def test_cluster_admin_may_do_everything() -> None:
    objects = *build_roles(), build_binding("User/bob", "ClusterRole/cluster-admin")
    assert is_allowed(BOB, Attributes("anything", "x.io", "things", "part"), *objects)
    assert is_allowed(BOB, Attributes("anything", path="/x"), *objects)


def test_builtin_roles_round_trip_through_json() -> None:
    for item in (*build_roles(), *build_bindings()):
        assert from_tree(to_tree(item), type(item)) == item


def test_builtin_bindings_refer_to_builtin_roles() -> None:
    names = {role.metadata.name for role in build_roles()}
    assert {binding.role_ref.name for binding in build_bindings()} <= names
