"""Wait for the components of virtshape on a node, and configure them for a machine without KVM."""

import json

from tests.cluster.install import retry
from tests.support.kubectl import Kubectl
from tests.support.kubevirt import SPEC_CONFIGURATION

from virtshape.api.model import JsonObject

SYSTEM = "virtshape-system"
COMPONENTS = ("webhook", "controller", "apiserver", "console")
EMULATION = {"useEmulation": True}
TIMEOUT = "--timeout=240s"
WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
WEBHOOK_SECONDS = 30


def wait_for_components(cluster: Kubectl) -> None:
    """Wait until all Deployments are complete, and the API server reaches the webhook and the subresource API."""
    system = cluster.in_namespace(SYSTEM)
    for component in COMPONENTS:
        ran = system.run("rollout", "status", f"deployment/virtshape-{component}", TIMEOUT)
        assert ran.status == 0, f"{ran.err}{describe_pods(cluster)}"
    cluster("wait", "apiservice/v1.subresources.kubevirt.io", "--for=condition=Available", TIMEOUT)


def configure(cluster: Kubectl) -> None:
    """Let QEMU emulate the CPU, and set what KubeVirt's specs expect; the controller creates the configuration."""
    developer = {**SPEC_CONFIGURATION["developerConfiguration"], **EMULATION}
    change = {"spec": {"configuration": {**SPEC_CONFIGURATION, "developerConfiguration": developer}}}
    patch = ("patch", "kubevirt", "kubevirt", "--type=merge", f"--patch={json.dumps(change)}")
    retry(lambda: cluster.in_namespace("kubevirt")(*patch))


def allow_slow_webhooks(cluster: Kubectl) -> None:
    """Let the API server wait longer for the webhook, which may not answer within 10 seconds on a busy machine."""
    for kind in WEBHOOKS:
        for item in cluster.get(kind, "--selector=app.kubernetes.io/part-of=virtshape")["items"]:
            paths = [f"/webhooks/{number}/timeoutSeconds" for number in range(len(item["webhooks"]))]
            patch = json.dumps([{"op": "add", "path": path, "value": WEBHOOK_SECONDS} for path in paths])
            cluster("patch", kind, item["metadata"]["name"], "--type=json", f"--patch={patch}")


def list_pods(cluster: Kubectl) -> list[JsonObject]:
    """Return the pods of the components."""
    pods: list[JsonObject] = cluster.in_namespace(SYSTEM).get("pods")["items"]
    return pods


def find_leader(cluster: Kubectl) -> str:
    """Return the name of the active controller's pod."""
    lease = cluster.in_namespace(SYSTEM).get("lease", "virtshape-controller")
    metadata = [pod["metadata"] for pod in list_pods(cluster)]
    names = [each["name"] for each in metadata if "deletionTimestamp" not in each]  # a roll-out may still end old pods
    holder = lease["spec"].get("holderIdentity") or ""
    return next((name for name in names if name in holder), "")


def describe_pods(cluster: Kubectl) -> str:
    """Return the state and the events of the components, for the message of a failed test."""
    system = cluster.in_namespace(SYSTEM)
    return "\n".join(system.run(*line).out for line in (("get", "pods", "-o", "wide"), ("get", "events")))
