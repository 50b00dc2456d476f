"""
Vectors put to a running system: their objects are stored, their VM is posted, and the answer is read as a vector's.

The VM is only tried. One that has no size of its own gets one: recorded steps knew no others, a server takes them all.
"""

import json
from pathlib import Path
from typing import Any

from tests.loopback import Client, Reply

from virtshape.api.kinds import find_kind

Tree = dict[str, Any]
CONFIGURATION = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"


class UnusableError(Exception):
    """A vector whose objects no system would store."""


def read_vectors(folder: Path, op: str) -> list[Tree]:
    lines = (folder / f"{op}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


class Live:
    """Asks a running system."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._namespaces = {"default"}

    def configure(self, configuration: Tree) -> None:
        reply = self._client.get(CONFIGURATION)
        reply = self._client.put(CONFIGURATION, {**reply.tree, "spec": {"configuration": configuration}})
        assert reply.status == 200, reply.body

    def ask(self, question: Tree) -> Reply:
        """What the system says to the vector's VM, beside the vector's objects."""
        self._enter(question["vm"]["metadata"].get("namespace", "default"))
        stored: list[str] = []
        try:
            stored += [self._store(tree) for tree in question.get("objects") or ()]
            return self._try_vm(question, stored)
        finally:
            for path in stored:
                self._client.delete(path)

    def _try_vm(self, question: Tree, stored: list[str]) -> Reply:
        vm = with_size(question["vm"])
        if question.get("operation", "CREATE") == "CREATE":
            return self._client.post(path_of(vm).rpartition("/")[0], vm, dryRun="All", fieldValidation="Ignore")
        stored.append(self._store(with_size(question["oldVM"])))
        version = self._client.get(stored[-1]).tree["metadata"]["resourceVersion"]
        changed = {**vm, "metadata": {**vm["metadata"], "resourceVersion": version}}
        return self._client.put(stored[-1], changed, dryRun="All", fieldValidation="Ignore")

    def _store(self, tree: Tree) -> str:
        self._enter(tree["metadata"].get("namespace"))
        path = path_of(tree)
        reply = self._client.post(path.rpartition("/")[0], tree)
        if reply.status != 201:
            raise UnusableError(f"{path}: {reply.body.decode()}")
        return path

    def _enter(self, namespace: str | None) -> None:
        if namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            self._client.post("/api/v1/namespaces", body)


def path_of(tree: Tree) -> str:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None, tree
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    namespace = f"/namespaces/{tree['metadata'].get('namespace', 'default')}" if kind.namespaced else ""
    return f"{root}{namespace}/{kind.plural}/{tree['metadata']['name']}"


def with_size(vm: Tree) -> Tree:
    """The VM with memory, if nothing else is sure to say how much it has."""
    spec = vm["spec"]
    domain = spec["template"]["spec"]["domain"]
    matcher = spec.get("instancetype") or spec.get("flavor") or {}
    is_sized = matcher and matcher.get("inferFromVolumeFailurePolicy") != "Ignore"
    if domain.get("memory") or domain.get("resources") or is_sized:
        return vm
    sized = {**spec["template"]["spec"], "domain": {**domain, "memory": {"guest": "64Gi"}}}
    return {**vm, "spec": {**spec, "template": {**spec["template"], "spec": sized}}}
