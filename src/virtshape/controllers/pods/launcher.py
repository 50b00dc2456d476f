"""
Launcher that runs each instance in one pod, which the cluster schedules.

An instance never gets a second pod: the pod name derives from the instance, and a deleted pod is not created again.
Pods are read from a cache; a pod counts as deleted only after the server has confirmed it.
"""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Protocol

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.container import ResourceRequirements
from virtshape.api.core.namespace import Namespace
from virtshape.api.core.node import Node
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.ownerreferences import find_controller, is_controlled_by
from virtshape.api.status import StatusError
from virtshape.api.wellknown import KUBEVIRT
from virtshape.client.cache import Change
from virtshape.client.informer import Informers
from virtshape.client.protocol import Client
from virtshape.controllers.pods.build import (
    GRACE_MARGIN_SECONDS,
    build_instance_resources,
    build_launcher_pod,
    explain_refusal,
    get_grace_period,
)
from virtshape.controllers.pods.naming import SELECTOR, name_pod
from virtshape.controllers.pods.persistentstateclaim import (
    build_state_claim,
    has_state,
    is_state_claim_of,
    name_state_claim,
)
from virtshape.controllers.pods.provisioning import FIRST_CONSUMER_PHASES, build_first_consumer
from virtshape.controllers.pods.resizer import PodResizer
from virtshape.controllers.pods.status import add_report, find_made_spec, read_missing_pod, read_pod
from virtshape.controllers.runtime.loop import is_race
from virtshape.controllers.storage.claimusage import list_claim_uses
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.launcher import Wake
from virtshape.controllers.vmi.phases import FAILED_CREATE, NOT_POSSIBLE
from virtshape.engine.claims import find_claim_size

_KIND = "VirtualMachineInstance"


class GuestReports(Protocol):
    """What the launchers in pods report about their guests, in addition to the status of the pods."""

    def find(self, vmi: VirtualMachineInstance, pod: Pod) -> GuestStatus | None:
        """Return the last report, or None if there is none yet; request a new one if it is due."""

    def observe(self, wake: Wake) -> None:
        """Call `wake` whenever a report has changed."""

    def forget(self, namespace: str, name: str) -> None:
        """Drop the report about an instance's guest."""


class PodLauncher:
    """
    Runs guests in pods with this container image.

    `reports` returns the reports of the launchers in the pods; `resizer` resizes running guests.
    """

    def __init__(
        self,
        client: Client,
        informers: Informers,
        image: str,
        reports: GuestReports | None = None,
        resizer: PodResizer | None = None,
    ) -> None:
        self._client = client
        self._reports = reports
        self._resizer = resizer
        self._informers = informers
        self._image = image
        self._wake: Wake = lambda _namespace, _name: None
        self._last: dict[str, Pod] = {}
        informers.add(Pod, labels=SELECTOR).handle(self._on_pod_change)
        for kind in (DataVolume, PersistentVolumeClaim):
            informers.add(kind)

    def describe_node(self, now: str) -> Node | None:
        """Return None: the cluster manages nodes."""
        del now
        return None

    def observe(self, wake: Wake) -> None:
        """Call `wake` on every change to a guest's pod, or to the report of its launcher."""
        self._wake = wake
        if self._reports is not None:
            self._reports.observe(wake)

    def forget(self, uid: str) -> None:
        """Do nothing: pods have no persistent data."""

    async def keep_only(self, uids: Collection[str]) -> None:
        """Forget deleted pods except those of instances with these UIDs; the cluster deletes pods with their owners."""
        self._last = {uid: pod for uid, pod in self._last.items() if uid in uids}

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """Create the instance's pod unless it had one before, resize a running guest, and return its status."""
        pod = self._find_cached(vmi)
        if pod is None and _had_pod(vmi):
            pod = await self._find(vmi)
            if pod is None:
                return read_missing_pod(vmi, self._last.get(_uid(vmi)))
        if pod is None:
            refusal = explain_refusal(vmi.spec, self._configuration())
            if refusal:
                return GuestStatus("refused", refusal, NOT_POSSIBLE)
            await self._ensure_state(vmi)
            waiting = await self._await_volumes(vmi)
            if waiting is not None:
                return waiting
            pod = await self._create(vmi)
        guest = read_pod(pod, vmi)
        return await self._follow(guest, vmi, pod) if guest.state in ("running", "paused") else guest

    async def _follow(self, guest: GuestStatus, vmi: VirtualMachineInstance, pod: Pod) -> GuestStatus:
        """Add the launcher's report to the status of a running guest, and resize the guest if needed."""
        reported = self._reports.find(vmi, pod) if self._reports is not None else None
        guest = add_report(guest, reported) if reported is not None else guest
        made = find_made_spec(pod)
        if self._resizer is None or made is None or pod.metadata.deletion_timestamp is not None:
            return guest
        return await self._resizer.sync(guest, vmi, pod, made, partial(self._build_resources, vmi))

    async def _build_resources(self, vmi: VirtualMachineInstance) -> ResourceRequirements:
        """Return the resources of a pod with the instance's size."""
        configuration = self._configuration()
        return build_instance_resources(vmi, configuration, await self._find_namespace_labels(vmi, configuration))

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Delete the instance's pod, with the instance's grace period and a margin; return True if the pod is gone."""
        pod = await self._find(vmi)
        if pod is None:
            self._last.pop(_uid(vmi), None)
            return True
        metadata = pod.metadata
        grace = get_grace_period(vmi.spec) + GRACE_MARGIN_SECONDS
        going = metadata.deletion_timestamp is not None
        if not going or grace < (metadata.deletion_grace_period_seconds or 0):
            try:
                await self._client.delete(
                    Pod, metadata.name or "", metadata.namespace or "", uid=metadata.uid or "", grace_seconds=grace
                )
            except StatusError as error:
                if error.code != 404:
                    raise
        return False

    async def _create(self, vmi: VirtualMachineInstance) -> Pod:
        configuration = self._configuration()
        wanted = build_launcher_pod(
            vmi,
            configuration,
            self._image,
            list(self._list_block_claims(vmi)),
            claim_sizes=dict(self._list_claim_sizes(vmi)),
            namespace_labels=await self._find_namespace_labels(vmi, configuration),
        )
        try:
            return await self._client.create(wanted)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise _explain_refused_pod(error) from error
        found = await self._find(vmi)
        if found is None:
            message = f"pod {name_pod(vmi)} already exists and is not owned by this instance: delete it"
            raise StatusError(409, FAILED_CREATE, message)
        return found

    async def _find_namespace_labels(
        self, vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None
    ) -> dict[str, str]:
        """Return the labels of the instance's namespace, or no labels if no setting depends on them."""
        if configuration is None or configuration.auto_cpu_limit_namespace_label_selector is None:
            return {}
        return (await self._client.get(Namespace, _namespace(vmi))).metadata.labels or {}

    async def _ensure_state(self, vmi: VirtualMachineInstance) -> None:
        """Create the claim for TPM and firmware state, if the guest has persistent state."""
        name = name_state_claim(vmi)
        if not has_state(vmi.spec):
            return
        found = self._informers.find(PersistentVolumeClaim, name, _namespace(vmi))
        if found is None:
            try:
                found = await self._client.create(build_state_claim(vmi, self._configuration()))
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
                found = await self._client.get(PersistentVolumeClaim, name, _namespace(vmi))
        if not is_state_claim_of(found, vmi):
            message = f"PersistentVolumeClaim {name} already exists and is not owned by this VM: delete it"
            raise StatusError(409, FAILED_CREATE, message)

    async def _await_volumes(self, vmi: VirtualMachineInstance) -> GuestStatus | None:
        """
        Return a status that reports the first DataVolume or claim the guest waits for; None if all are ready.

        If this DataVolume waits for its first consumer, create the first-consumer pod. The
        launcher pod is created only after the claim exists, because it depends on the claim's volume mode and size.
        """
        for use in list_claim_uses(vmi):
            volume = self._informers.find(DataVolume, use.claim, _namespace(vmi))
            if volume is None and self._informers.find(PersistentVolumeClaim, use.claim, _namespace(vmi)) is None:
                return GuestStatus("placing", f"PersistentVolumeClaim {use.claim} not found", "ClaimNotFound")
            phase = (volume.status.phase if volume is not None and volume.status is not None else None) or "Pending"
            if volume is None or phase == "Succeeded":
                continue
            if phase in FIRST_CONSUMER_PHASES:
                await self._make_first_consumer(vmi)
            return GuestStatus("placing", f"DataVolume {use.claim} is {phase}", "DataVolumeNotReady")
        return None

    async def _make_first_consumer(self, vmi: VirtualMachineInstance) -> None:
        """Create the first-consumer pod, so that volumes are bound on a node where the guest can run."""
        wanted = build_first_consumer(vmi, self._configuration(), self._image, list(self._list_block_claims(vmi)))
        try:
            await self._client.create(wanted)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise _explain_refused_pod(error) from error

    def _list_block_claims(self, vmi: VirtualMachineInstance) -> Iterator[str]:
        for use in list_claim_uses(vmi):
            claim = self._informers.find(PersistentVolumeClaim, use.claim, _namespace(vmi))
            if claim is not None and claim.spec is not None and claim.spec.volume_mode == "Block":
                yield use.claim

    def _list_claim_sizes(self, vmi: VirtualMachineInstance) -> Iterator[tuple[str, int]]:
        for use in list_claim_uses(vmi):
            claim = self._informers.find(PersistentVolumeClaim, use.claim, _namespace(vmi))
            size = find_claim_size(claim) if claim is not None else None
            if size is not None:
                yield use.volume, size

    def _find_cached(self, vmi: VirtualMachineInstance) -> Pod | None:
        pod = self._informers.find(Pod, name_pod(vmi), _namespace(vmi))
        return pod if pod is not None and is_controlled_by(pod.metadata, vmi) else None

    async def _find(self, vmi: VirtualMachineInstance) -> Pod | None:
        """Return the instance's pod from the server, or None."""
        try:
            pod = await self._client.get(Pod, name_pod(vmi), _namespace(vmi))
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        return pod if is_controlled_by(pod.metadata, vmi) else None

    def _on_pod_change(self, change: Change[Pod]) -> None:
        owner, metadata = find_controller(change.item.metadata), change.item.metadata
        if owner is None or owner.kind != _KIND:
            return
        if change.type == "DELETED":
            self._last[owner.uid] = change.item
            if self._resizer is not None:
                self._resizer.forget(metadata.uid or "")
            if self._reports is not None:
                self._reports.forget(metadata.namespace or "", owner.name)
        self._wake(metadata.namespace or "", owner.name)

    def _configuration(self) -> KubeVirtConfiguration | None:
        installed = self._informers.find(KubeVirt, KUBEVIRT, KUBEVIRT)
        return installed.spec.configuration if installed is not None and installed.spec is not None else None


def _explain_refused_pod(error: StatusError) -> StatusError:
    """Return an error for a rejected pod, with KubeVirt's reason and message; errors due to a race are not changed."""
    if is_race(error):
        return error
    return StatusError(error.code, FAILED_CREATE, f"failed to create virtual machine pod: {error.message}")


def _had_pod(vmi: VirtualMachineInstance) -> bool:
    return bool(vmi.status is not None and vmi.status.active_pods)


def _uid(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.uid or ""


def _namespace(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.namespace or ""
