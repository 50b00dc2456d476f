"""
Run KubeVirt's virt-api with KubeVirt's own CRDs on a control plane, for tests and benchmarks.

This module creates the objects that virt-operator would create: certificates, CRDs, webhooks, APIServices, and the
KubeVirt object with the default configuration.
"""

import base64
import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.controlplane import HOST, Child, ControlPlane
from tests.support.demo import find_free_port

from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.certificates import Authority, make_key

NAMESPACE: Final = "kubevirt"
SERVICE: Final = "virt-api"
TIMEOUT: Final = 300.0
CREATED: Final = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "APIService": "/apis/apiregistration.k8s.io/v1/apiservices",
}
CORE: Final = f"/api/v1/namespaces/{NAMESPACE}"
KUBEVIRTS: Final = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/kubevirts"
PROBE: Final = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes?dryRun=All"
SUBRESOURCES: Final = "/apis/subresources.kubevirt.io/v1"


@contextlib.contextmanager
def run_virt_api(plane: ControlPlane, programs: Path) -> Iterator[Child]:
    """Install KubeVirt's API and run virt-api during the block; `programs` is the folder of the built programs."""
    authority, port = Authority.create(make_key(), "kubevirt"), find_free_port()
    objects = json.loads(subprocess.run([programs / "objects"], capture_output=True, check=True).stdout)["items"]
    definitions = [tree for tree in objects if tree["kind"] == "CustomResourceDefinition"]
    _define(plane, definitions, authority)
    child = Child(programs / SERVICE, plane.directory / f"{SERVICE}.log", _list_flags(plane, authority, port))
    child.start()
    try:
        for tree in objects:
            if tree not in definitions:
                _create(plane, CREATED[tree["kind"]], _route(tree, authority, port))
        child.wait(lambda: _is_serving(plane))
        yield child
    finally:
        child.stop()


def _define(plane: ControlPlane, definitions: list[JsonObject], authority: Authority) -> None:
    """Create the CRDs, and the objects that virt-api reads when it starts."""
    for tree in definitions:
        _create(plane, CREATED[tree["kind"]], {key: tree[key] for key in tree if key != "status"})
    _create(plane, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    _create(plane, f"{CORE}/services", {"metadata": {"name": SERVICE}, "spec": _build_external_name()})
    bundle = {"metadata": {"name": "kubevirt-ca"}, "data": {"ca-bundle": authority.pem.decode()}}
    _create(plane, f"{CORE}/configmaps", bundle)
    deadline = time.monotonic() + TIMEOUT
    lists = [_find_list(tree) for tree in definitions]
    while missing := [path for path in lists if plane.request("GET", path)[0] != 200]:
        assert time.monotonic() < deadline, f"these kinds are not served: {missing}"
        time.sleep(0.2)
    kubevirt = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": NAMESPACE}, "spec": {}}
    _create(plane, KUBEVIRTS, kubevirt)


def _find_list(definition: JsonObject) -> str:
    """Return the path that lists all objects of a kind."""
    spec = definition["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"


def _build_external_name() -> JsonObject:
    return {"type": "ExternalName", "externalName": "localhost"}


def _list_flags(plane: ControlPlane, authority: Authority, port: int) -> list[str]:
    """
    Write the certificates and return the flags of virt-api; the client certificate for virt-handler is not used.

    The certificates have their own directory: virt-api reloads them after every change in it, even of a log file.
    """
    issued = authority.issue_server([f"{SERVICE}.{NAMESPACE}.svc", "localhost", HOST])
    directory = plane.directory / SERVICE
    directory.mkdir()
    certificate, key = (directory / f"tls.{end}" for end in ("crt", "key"))
    key.touch(mode=0o600)
    certificate.write_bytes(issued.certificate)
    key.write_bytes(issued.key)
    return [
        f"--kubeconfig={plane.kubeconfig}",
        f"--listen={HOST}",
        f"--port={port}",
        f"--tls-cert-file={certificate}",
        f"--tls-key-file={key}",
        f"--handler-cert-file={certificate}",
        f"--handler-key-file={key}",
    ]


def _route(tree: JsonObject, authority: Authority, port: int) -> JsonObject:
    """Return a webhook configuration or APIService that points to virt-api on this machine."""
    bundle = base64.b64encode(authority.pem).decode()
    for client in [hook["clientConfig"] for hook in tree.get("webhooks", ())] or [tree["spec"]]:
        client["caBundle"] = bundle
        client["service"]["port"] = port
    return {key: value for key, value in tree.items() if key != "status"}


def _is_serving(plane: ControlPlane) -> bool:
    """Return True if the API server reaches the webhooks and the subresources."""
    probe = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "probe"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    }
    return plane.request("POST", PROBE, probe)[0] == 201 and plane.request("GET", SUBRESOURCES)[0] == 200


def _create(plane: ControlPlane, path: str, tree: JsonObject) -> Any:
    code, answer = plane.request("POST", path, tree)
    assert code == 201, answer
    return answer
