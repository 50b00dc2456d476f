"""Our installation on the control plane of a test: applied as users apply it, and taken away again."""

import copy
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.kubectl import Kubectl

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.options import Options

COMMAND = Path(sys.executable).parent / "virtshape"
ASKING = "mutatingwebhookconfigurations,validatingwebhookconfigurations,apiservices"
TIMEOUT = 100.0


def print_manifests(*arguments: str) -> str:
    """What `virtshape manifests` prints."""
    ran = subprocess.run([COMMAND, "manifests", *arguments], capture_output=True, text=True, check=True)
    assert not ran.stderr, ran.stderr
    return ran.stdout


def apply_kinds(kubectl: Kubectl) -> None:
    """Have the cluster know all our kinds, and nothing that has a say in their objects, nor in their versions."""
    definitions = build_parts(Options(cdi=True))["crds"]
    kubectl.apply(*({**tree, "spec": {**tree["spec"], "conversion": {"strategy": "None"}}} for tree in definitions))
    wait_for_kinds(kubectl)


def wait_for_kinds(kubectl: Kubectl) -> None:
    """Wait until all definitions are served."""
    names = [tree["metadata"]["name"] for tree in build_parts(Options(cdi=True))["crds"]]
    present = {tree["metadata"]["name"] for tree in kubectl.get("crds")["items"]}
    wanted = [name for name in names if name in present]
    kubectl("wait", "crd", *wanted, "--for=condition=Established", f"--timeout={TIMEOUT:g}s")


def remove_webhooks(kubectl: Kubectl) -> None:
    """Have the API server ask nobody any more: there is no pod that could answer."""
    kubectl("delete", ASKING, "--selector=app.kubernetes.io/part-of=virtshape", "--ignore-not-found")


def read_lines(output: str) -> dict[str, str]:
    """What kubectl did with each object, by its name."""
    return {name: what for name, _, what in (line.partition(" ") for line in output.splitlines())}


def retry(attempt: Any) -> Any:
    """Try until it succeeds: some facts take the control plane a moment."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return attempt()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def route_here(trees: list[JsonObject], ports: Mapping[str, int]) -> list[JsonObject]:
    """
    The same installation with its Services leading to this machine, each to a port of its own.

    Everything else stays: the names that the API server calls by, and so the certificates that it expects.
    """
    return [_reroute(tree, ports) for tree in copy.deepcopy(trees)]


def _reroute(tree: JsonObject, ports: Mapping[str, int]) -> JsonObject:
    name = tree["metadata"]["name"]
    if tree["kind"] == "Service" and name in ports:
        return {**tree, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    for reference in _find_references(tree):
        reference["port"] = ports[reference["name"]]
    return tree


def _find_references(tree: Any) -> Iterator[JsonObject]:
    """Wherever an object says which Service to call."""
    nested = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict) and isinstance(tree.get("service"), dict) and "port" in tree["service"]:
        yield tree["service"]
    for each in nested:
        yield from _find_references(each)
