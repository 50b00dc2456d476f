"""
Run vectors against a running server: store their objects, post or update their VM and return the response.

The VM is sent as a dry run. The recorded steps validated only matchers, but a server validates the whole VM, so other
required fields are added first.
"""

import json
from pathlib import Path

from tests.support.loopback import Client, LoopbackServer, Response

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject

CONFIGURATION = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"


def read_vectors(folder: Path, op: str) -> list[JsonObject]:
    lines = (folder / f"{op}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


class VectorRunner:
    """Runs vectors against a running server."""

    def __init__(self, server: LoopbackServer, client: Client) -> None:
        self._serving = server
        self._client = client
        self._namespaces = {"default"}

    def configure(self, configuration: JsonObject) -> None:
        reply = self._client.get(CONFIGURATION)
        reply = self._client.put(CONFIGURATION, {**reply.tree, "spec": {"configuration": configuration}})
        assert reply.status == 200, reply.body

    def request(self, question: JsonObject) -> Response:
        """Store the vector's objects, send its VM, delete the objects, and return the response."""
        stored: list[str] = []
        try:
            stored += map(self._store, question.get("objects") or ())
            return self._try_vm(question, stored)
        finally:
            for path in stored:
                self._client.delete(path)

    def _try_vm(self, question: JsonObject, stored: list[str]) -> Response:
        vm = complete_vm(question["vm"])
        self._enter(vm["metadata"]["namespace"])
        if question.get("operation", "CREATE") == "CREATE":
            return self._client.post(path_of(vm).rpartition("/")[0], vm, dryRun="All", fieldValidation="Ignore")
        # Store the old VM without admission, which may reject a recorded VM.
        self._serving.store_directly(complete_vm(question["oldVM"]))
        stored.append(path_of(vm))
        version = self._client.get(stored[-1]).tree["metadata"]["resourceVersion"]
        changed = {**vm, "metadata": {**vm["metadata"], "resourceVersion": version}}
        return self._client.put(stored[-1], changed, dryRun="All", fieldValidation="Ignore")

    def _store(self, tree: JsonObject) -> str:
        self._enter(tree["metadata"].get("namespace"))
        path = path_of(tree)
        reply = self._client.post(path.rpartition("/")[0], tree)
        assert reply.status == 201, reply.body
        return path

    def _enter(self, namespace: str | None) -> None:
        if namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            self._client.post("/api/v1/namespaces", body)


def path_of(tree: JsonObject) -> str:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None, tree
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    namespace = f"/namespaces/{tree['metadata'].get('namespace', 'default')}" if kind.namespaced else ""
    return f"{root}{namespace}/{kind.plural}/{tree['metadata']['name']}"


def complete_vm(vm: JsonObject) -> JsonObject:
    """Return the VM with a namespace, memory, storage for its DataVolume templates, and volumes that use them."""
    spec = vm["spec"]
    guest = _with_memory(spec, spec["template"]["spec"])
    templates = [_with_claim(template) for template in spec.get("dataVolumeTemplates") or ()]
    if templates:
        guest = {**guest, "volumes": [*(guest.get("volumes") or ()), *_list_missing(guest, templates)]}
        spec = {**spec, "dataVolumeTemplates": templates}
    metadata = {"namespace": "default", **vm["metadata"]}
    return {**vm, "metadata": metadata, "spec": {**spec, "template": {**spec["template"], "spec": guest}}}


def _with_memory(spec: JsonObject, guest: JsonObject) -> JsonObject:
    """Return the guest's spec with memory added, unless another field determines the memory."""
    domain = guest["domain"]
    matcher = spec.get("instancetype") or spec.get("flavor") or {}
    is_sized = matcher and matcher.get("inferFromVolumeFailurePolicy") != "Ignore"
    if domain.get("memory") or domain.get("resources") or is_sized:
        return guest
    return {**guest, "domain": {**domain, "memory": {"guest": "64Gi"}}}


def _with_claim(template: JsonObject) -> JsonObject:
    spec = template["spec"]
    return template if "pvc" in spec or "storage" in spec else {**template, "spec": {**spec, "storage": {}}}


def _list_missing(guest: JsonObject, templates: list[JsonObject]) -> list[JsonObject]:
    used = {(volume.get("dataVolume") or {}).get("name") for volume in guest.get("volumes") or ()}
    names = [template["metadata"]["name"] for template in templates]
    return [{"name": f"also-{name}", "dataVolume": {"name": name}} for name in names if name not in used]
