import pytest

from virtshape.apiserver.message import Request
from virtshape.apiserver.route import Route, find_route

Found = tuple[str | None, str, str, str, str]


def show(route: Route | None) -> Found | None:
    if route is None:
        return None
    return route.verb, route.resource, route.namespace, route.name, route.subresource


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/api/v1/pods", ("list", "pods", "", "", "")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/", ("list", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods?watch=1", ("watch", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods?watch=false", ("list", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/b", ("get", "pods", "a", "b", "")),
        ("GET", "/api/v1/namespaces/a/pods/b?watch=1", ("get", "pods", "a", "b", "")),
        ("HEAD", "/api/v1/namespaces/a/pods/b", (None, "pods", "a", "b", "")),
        ("POST", "/api/v1/namespaces/a/pods/b", (None, "pods", "a", "b", "")),
        ("PUT", "/api/v1/namespaces/a/pods", (None, "pods", "a", "", "")),
        ("POST", "/api/v1/pods", (None, "pods", "", "", "")),
        ("DELETE", "/api/v1/pods", (None, "pods", "", "", "")),
        ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token", ("create", "serviceaccounts", "a", "b", "token")),
        (
            "HEAD",
            "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b",
            ("get", "virtualmachines.kubevirt.io", "a", "b", ""),
        ),
        (
            "POST",
            "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b",
            ("create", "virtualmachines.kubevirt.io", "a", "b", ""),
        ),
        (
            "GET",
            "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b/c/d",
            ("get", "virtualmachines.kubevirt.io", "a", "b", "c/d"),
        ),
        ("PUT", "/api/v1/namespaces/a/pods/b/status", ("update", "pods", "a", "b", "status")),
        ("DELETE", "/api/v1/namespaces/a/pods", ("deletecollection", "pods", "a", "", "")),
        ("OPTIONS", "/api/v1/namespaces/a/pods", (None, "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces", ("list", "namespaces", "", "", "")),
        ("GET", "/api/v1/namespaces/a", ("get", "namespaces", "", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", ("update", "namespaces", "", "a", "finalize")),
        ("GET", "/api/v1/namespaces/pods/pods/pods", ("get", "pods", "pods", "pods", "")),
        (
            "PATCH",
            "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b",
            ("patch", "virtualmachines.kubevirt.io", "a", "b", ""),
        ),
        ("POST", "/apis/storage.k8s.io/v1/storageclasses", ("create", "storageclasses.storage.k8s.io", "", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/b%20c", ("get", "pods", "a", "b c", "")),
    ],
)
def test_path_and_method_select_the_route(method: str, target: str, expected: Found) -> None:
    assert show(find_route(Request(method, target, {}))) == expected


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", "/api/v1"),
        ("GET", "/apis/kubevirt.io/v1"),
        ("GET", "/api/v2/pods"),
        ("GET", "/api/v1/virtualmachines"),
        ("GET", "/apis//v1/pods"),
        ("GET", "/api/v1/namespaces/a/namespaces"),
        ("GET", "/api/v1/namespaces//pods"),
        ("GET", "/apis/storage.k8s.io/v1/namespaces/a/storageclasses"),
        ("GET", "/api/v1/namespaces/a/pods/b/c/d"),
        ("GET", "/api/v1/pods/b"),
        ("POST", "/apis/kubevirt.io/v1/virtualmachines"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/b"),
        ("GET", "*"),
    ],
)
def test_unknown_paths_have_no_route(method: str, target: str) -> None:
    assert find_route(Request(method, target, {})) is None
