"""
Deployments for clients that wait for KubeVirt's Deployments: `virt-operator`, `virt-api` and `virt-controller`.

All components run in the server's process, so there are no pods. A component is ready if the process is ready and,
except for the API, the controllers run.
"""

import asyncio
import time
from typing import Final

from msgspec.structs import replace

from virtshape.api.deployment import Deployment, DeploymentCondition, DeploymentStatus
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.times import format_time
from virtshape.api.wellknown import KUBEVIRT
from virtshape.client.protocol import Client
from virtshape.supervise.supervisor import Supervisor

API: Final = "virt-api"
COMPONENTS: Final = (API, "virt-controller", "virt-operator")
_LABEL: Final = "kubevirt.io"
_STARTING: Final = "the controllers are not running"


def build_deployment(name: str, image: str) -> JsonObject:
    """Build the Deployment of a component."""
    labels = {_LABEL: name}
    about = "This component runs in the process of virtshape up; it has no pods."
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": KUBEVIRT,
            "labels": labels,
            "annotations": {"kubernetes.io/description": about},
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": name, "image": image}]},
            },
        },
    }


class ComponentStatus:
    """Updates the status of the Deployments."""

    def __init__(self, client: Client, supervisor: Supervisor) -> None:
        self._client = client
        self._supervisor = supervisor
        self._changed = asyncio.Event()
        self._has_controllers = False

    def note_controllers(self) -> None:
        """Record that the controllers run; later failures are reported by the checks of their tasks."""
        self._has_controllers = True
        self._changed.set()

    async def run(self) -> None:
        """Write the status at once and whenever a task fails or recovers, until cancelled."""
        stop_observing = self._supervisor.observe(lambda _: self._changed.set())
        try:
            while True:
                self._changed.clear()
                for name in COMPONENTS:
                    await self._write(name)
                await self._changed.wait()
        finally:
            stop_observing()

    async def _write(self, name: str) -> None:
        try:
            deployment = await self._client.get(Deployment, name, KUBEVIRT)
            status = make_status(deployment, self._find_failure(name), format_time(time.time()))
            if status != deployment.status:
                await self._client.update_status(replace(deployment, status=status))
        except StatusError as error:
            if error.code != 404:  # a deleted Deployment is created again at the next start
                raise

    def _find_failure(self, name: str) -> str:
        required = {task: check for task, check in self._supervisor.list_checks().items() if check.required}
        failures = [f"{task} failed: {check.failure}" for task, check in required.items() if not check.passed]
        return "; ".join(failures) or ("" if name == API or self._has_controllers else _STARTING)


def make_status(deployment: Deployment, failure: str, stamp: str) -> DeploymentStatus:
    """Return the status of a component's Deployment; `failure` is empty if the component is ready."""
    old = deployment.status or DeploymentStatus()
    ready = None if failure else 1
    available = DeploymentCondition(
        type="Available",
        status="False" if failure else "True",
        reason="MinimumReplicasUnavailable" if failure else "MinimumReplicasAvailable",
        message=failure or "The component is ready.",
    )
    progressing = DeploymentCondition(
        type="Progressing", status="True", reason="NewReplicaSetAvailable", message="The component has started."
    )
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=1,
        updated_replicas=1,
        ready_replicas=ready,
        available_replicas=ready,
        unavailable_replicas=1 if failure else None,
        conditions=[_stamp(one, old, stamp) for one in (available, progressing)],
    )


def _stamp(condition: DeploymentCondition, old: DeploymentStatus, stamp: str) -> DeploymentCondition:
    """Return the condition with its times, which change only when its status does."""
    before = next((one for one in old.conditions or () if one.type == condition.type), None)
    since = before.last_transition_time if before is not None and before.status == condition.status else stamp
    return replace(condition, last_transition_time=since, last_update_time=since)
