"""Install virtshape on a control plane as users do, and remove it."""

import copy
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.kubectl import Kubectl

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.options import Options

COMMAND = Path(sys.executable).parent / "virtshape"
WEBHOOK_KINDS = "mutatingwebhookconfigurations,validatingwebhookconfigurations,apiservices"
TIMEOUT = 240.0
MAX_WEBHOOK_SECONDS = 30
"""The longest time that Kubernetes allows a webhook."""


def print_manifests(*arguments: str) -> str:
    """Return the output of `virtshape manifests`."""
    ran = subprocess.run([COMMAND, "manifests", *arguments], capture_output=True, text=True, check=True)
    assert not ran.stderr, ran.stderr
    return ran.stdout


def apply_kinds(kubectl: Kubectl) -> None:
    """Apply only the CRDs, without webhooks and without conversion."""
    definitions = build_parts(Options(cdi=True))["crds"]
    kubectl.apply(*({**tree, "spec": {**tree["spec"], "conversion": {"strategy": "None"}}} for tree in definitions))
    wait_for_kinds(kubectl)


def wait_for_kinds(kubectl: Kubectl) -> None:
    """Wait until all of our CRDs that exist are established."""
    names = [tree["metadata"]["name"] for tree in build_parts(Options(cdi=True))["crds"]]
    present = {tree["metadata"]["name"] for tree in kubectl.get("crds")["items"]}
    wait_for_definitions(kubectl, [name for name in names if name in present])


def wait_for_definitions(kubectl: Kubectl, names: Sequence[str]) -> None:
    """Wait until these CRDs are established, and until kubectl finds their kinds, which may take longer."""
    kubectl("wait", "crd", *names, "--for=condition=Established", f"--timeout={TIMEOUT:g}s")

    def check() -> None:
        listed = kubectl.run("api-resources", "-o", "name")  # fails if an aggregated API is not available
        assert set(names) <= set(listed.out.split()), listed.err

    retry(check)


def remove_webhooks(kubectl: Kubectl) -> None:
    """Remove the webhook configurations, because no pod serves them."""
    kubectl("delete", WEBHOOK_KINDS, "--selector=app.kubernetes.io/part-of=virtshape", "--ignore-not-found")


def read_lines(output: str) -> dict[str, str]:
    """Return a mapping from each object to the result that kubectl printed for the object."""
    return {name: what for name, _, what in (line.partition(" ") for line in output.splitlines())}


def retry(attempt: Any) -> Any:
    """
    Return the result of `attempt`; repeat it for at most TIMEOUT seconds while it raises AssertionError or LookupError.

    A LookupError means that an object does not have a field yet, such as its status.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return attempt()
        except (AssertionError, LookupError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def route_here(trees: list[JsonObject], ports: Mapping[str, int]) -> list[JsonObject]:
    """
    Return the objects of the installation with its Services routed to separate ports of this machine.

    The DNS names stay the same, and so do the certificates that the API server expects.
    """
    return [_reroute(tree, ports) for tree in copy.deepcopy(trees)]


def _reroute(tree: JsonObject, ports: Mapping[str, int]) -> JsonObject:
    name = tree["metadata"]["name"]
    if tree["kind"] == "Service" and name in ports:
        return {**tree, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    for reference in _find_references(tree):
        reference["port"] = ports[reference["name"]]
    for webhook in tree.get("webhooks", ()):
        webhook["timeoutSeconds"] = MAX_WEBHOOK_SECONDS  # the machine may be busy
    return tree


def _find_references(tree: Any) -> Iterator[JsonObject]:
    """Yield all references to Services in an object."""
    nested = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict) and isinstance(tree.get("service"), dict) and "port" in tree["service"]:
        yield tree["service"]
    for each in nested:
        yield from _find_references(each)
