"""
Resize running guests in pods to the size of their instances.

The pod is resized in place first, so that its node reserves the resources; then the launcher in the pod adds vCPUs and
memory to the guest. If a guest cannot be resized, the instance's status says why, and the VM needs a restart.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from virtshape.api.core.container import ResourceRequirements
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt import domain
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.controllers.pods.resize import SUBRESOURCE, build_resize_patch, read_resize_progress
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.gueststatus import GuestStatus

NODE_SECONDS: Final = 60.0
"""If a node neither applies nor refuses a resize within this time, the delay is reported."""
_NOT_SUPPORTED: Final = "the API server cannot resize pods, which needs Kubernetes 1.33 or newer"


class ResizeGuest(Protocol):
    """Sends a request to resize a guest to the launcher in its pod."""

    async def __call__(self, pod: Pod, *, vcpus: int, memory: int) -> str:
        """
        Set the number of vCPUs and the memory in bytes; a value of 0 leaves the current size unchanged.

        Return why the guest cannot have this size, or an empty string. Raise StatusError if the request to the launcher
        fails.
        """


BuildResources = Callable[[], Awaitable[ResourceRequirements]]


class _Size(NamedTuple):
    """The size of a guest, with its memory in bytes, and the resources that the VM sets for its pod."""

    vcpus: int
    memory: int
    resources: domain.ResourceRequirements | None


class _Attempt(NamedTuple):
    """A requested size, the time of the request, and why the launcher refused to resize the guest, if it did."""

    size: _Size
    since: float
    refusal: str = ""


class PodResizer:
    """Resizes pods and their guests."""

    def __init__(self, client: Client, resize_guest: ResizeGuest, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._resize_guest = resize_guest
        self._clock = clock
        self._sizes: dict[str, _Size] = {}
        """Sizes to which this process has resized guests, by the UIDs of their pods."""
        self._attempts: dict[str, _Attempt] = {}

    def forget(self, uid: str) -> None:
        """Drop the state of a deleted pod."""
        self._sizes.pop(uid, None)
        self._attempts.pop(uid, None)

    async def sync(
        self,
        guest: GuestStatus,
        vmi: VirtualMachineInstance,
        pod: Pod,
        made: VirtualMachineInstanceSpec,
        build_resources: BuildResources,
    ) -> GuestStatus:
        """
        Resize a running guest to the size of its instance, and return its status.

        `made` is the instance spec that the pod was created from; `build_resources` returns the resources of a pod with
        the new size. While the sizes of guest and instance differ, the returned status has no size, so that the
        instance's status still shows the last reported size.
        """
        uid, wanted = pod.metadata.uid or "", _measure(vmi.spec)
        has = self._sizes.get(uid) or _measure(made)
        if wanted != has:
            problem = await self._resize(uid, pod, has, wanted, await build_resources())
            if problem is not None:
                error = f"{problem}; restart the VM to apply its new size" if problem else ""
                return replace(guest, resize_error=error, is_settled=False)
            self._sizes[uid] = wanted
            self._attempts.pop(uid, None)
        cpu, memory = vmi.spec.domain.cpu, vmi.spec.domain.memory
        topology = CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads) if cpu is not None else None
        return replace(guest, topology=topology, memory=memory.guest if memory is not None else None)

    async def _resize(
        self, uid: str, pod: Pod, has: _Size, wanted: _Size, resources: ResourceRequirements
    ) -> str | None:
        """Continue a resize; return None if the guest has the wanted size, or else the problem, which may be empty."""
        attempt = self._attempts.get(uid)
        if attempt is None or attempt.size != wanted:
            attempt = self._attempts[uid] = _Attempt(wanted, self._clock())
        if attempt.refusal:
            return attempt.refusal
        patch = build_resize_patch(pod, resources)
        if patch is not None:
            return await self._patch(pod, patch)
        progress = read_resize_progress(pod, resources)
        if not progress.is_done:
            return progress.problem or self._explain_delay(pod, attempt)
        if (wanted.vcpus, wanted.memory) == (has.vcpus, has.memory):
            return None
        try:
            refusal = await self._resize_guest(
                pod,
                vcpus=wanted.vcpus if wanted.vcpus != has.vcpus else 0,
                memory=wanted.memory if wanted.memory != has.memory else 0,
            )
        except StatusError as error:
            return f"the request to resize the guest failed: {error.message}"
        if refusal:
            self._attempts[uid] = attempt._replace(refusal=refusal)
        return refusal or None

    async def _patch(self, pod: Pod, patch: JsonObject) -> str:
        """Request new resources for a pod; return the problem, or an empty string."""
        name, namespace = pod.metadata.name or "", pod.metadata.namespace or ""
        try:
            await self._client.patch(Pod, name, namespace, patch=patch, how="strategic", subresource=SUBRESOURCE)
        except StatusError as error:
            return _NOT_SUPPORTED if error.code == 404 else f"the pod cannot be resized: {error.message}"
        return ""

    def _explain_delay(self, pod: Pod, attempt: _Attempt) -> str:
        if self._clock() - attempt.since < NODE_SECONDS:
            return ""
        node = (pod.spec.node_name if pod.spec else None) or ""
        return f"node {node} has not resized the pod within {NODE_SECONDS:g} seconds"


def _measure(spec: VirtualMachineInstanceSpec) -> _Size:
    size = measure(spec)
    return _Size(size.vcpus or 1, size.memory.value() if size.memory is not None else 0, spec.domain.resources)
