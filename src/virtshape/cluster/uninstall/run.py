"""
Run the steps of an uninstall.

An uninstall can be repeated after a failure: deleted objects are skipped. The controller is removed first, so that it
does not start guests again. Guests are then shut down within their grace periods.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import VM_FINALIZER, VMI_FINALIZER
from virtshape.client.resources import metadata_of
from virtshape.client.rest import RestClient
from virtshape.cluster.uninstall.inventory import ObjectRef, list_served
from virtshape.cluster.uninstall.plan import Plan, format_count
from virtshape.controllers.pods.naming import SELECTOR

PAUSE_SECONDS: Final = 0.5
MAX_CONFLICTS: Final = 5
Report = Callable[[str], None]


class UninstallError(Exception):
    """The uninstall could not be completed; `left` lists the objects that remain."""

    def __init__(self, message: str, left: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.left = tuple(left)


class Uninstaller:
    """Removes an installation with this client; `seconds` limits the wait for guests and for deletions."""

    def __init__(self, client: RestClient, report: Report, seconds: float) -> None:
        self._client = client
        self._report = report
        self._seconds = seconds

    async def run(self, plan: Plan) -> None:
        """Run the plan; raise UninstallError if guests do not stop or objects are not deleted in time."""
        if plan.controller is not None:
            await self._delete(plan.controller, propagation="Foreground")
            await self._wait_until_gone([plan.controller])
            self._report(f"deleted {plan.controller}")
        for item in plan.detached:
            await self._change(type(item), item.metadata, lambda metadata: _detach(metadata, plan.deleted_owners))
            self._report(f"detached {item.kind} {item.metadata.name} in namespace {item.metadata.namespace}")
        if plan.ends_guests:
            await self._end_guests(plan.guests)
        for vm in plan.vms:
            await self._release(VirtualMachine, vm.metadata, VM_FINALIZER)
        await self._delete_all(plan.objects)
        if plan.deletes_vms:
            await self._delete_vms(plan.vms)
        await self._delete_all(plan.definitions)
        await self._delete_all(plan.namespaces)

    async def _end_guests(self, guests: Sequence[VirtualMachineInstance]) -> None:
        """Delete instances and their pods; remove the finalizers of the instances when all pods are gone."""
        for vmi in guests:
            await self._ignore_missing(
                self._client.delete(VirtualMachineInstance, vmi.metadata.name or "", vmi.metadata.namespace or "")
            )
        if guests:
            count = format_count(len(guests), "guest")
            self._report(f"waiting up to {self._seconds:g} seconds until {count} shut down")
        deadline = time.monotonic() + self._seconds
        known: dict[str, str] = {}
        while pods := (await self._client.list(Pod, labels=SELECTOR)).items:
            for pod in pods:
                if pod.metadata.deletion_timestamp is None:
                    await self._delete_pod(pod)
            running = {pod.metadata.uid or "": _name(pod.metadata) for pod in pods}
            for uid in known.keys() - running.keys():
                self._report(f"pod {known[uid]} has ended")
            known = running
            if time.monotonic() > deadline:
                message = f"guests did not stop within {self._seconds:g} seconds"
                raise UninstallError(message, [f"pod {name}" for name in known.values()])
            await asyncio.sleep(PAUSE_SECONDS)
        for name in known.values():
            self._report(f"pod {name} has ended")
        for vmi in guests:
            await self._release(VirtualMachineInstance, vmi.metadata, VMI_FINALIZER)
            self._report(f"deleted VirtualMachineInstance {_name(vmi.metadata)}")

    async def _delete_pod(self, pod: Pod) -> None:
        """Delete a pod with its own grace period, in which its launcher shuts the guest down."""
        metadata = pod.metadata
        await self._ignore_missing(
            self._client.delete(Pod, metadata.name or "", metadata.namespace or "", uid=metadata.uid or "")
        )

    async def _delete_vms(self, vms: Sequence[VirtualMachine]) -> None:
        for vm in vms:
            await self._ignore_missing(
                self._client.delete(VirtualMachine, vm.metadata.name or "", vm.metadata.namespace or "")
            )
        deadline = time.monotonic() + self._seconds
        while left := await list_served(self._client, VirtualMachine):
            if time.monotonic() > deadline:
                others = [f"VirtualMachine {_name(vm.metadata)}: {_explain_finalizers(vm.metadata)}" for vm in left]
                raise UninstallError("VMs have not been deleted", others)
            await asyncio.sleep(PAUSE_SECONDS)
        if vms:
            self._report(f"deleted {format_count(len(vms), 'VM')}")

    async def _delete_all(self, refs: Sequence[ObjectRef]) -> None:
        for ref in refs:
            await self._delete(ref)
        await self._wait_until_gone(refs)
        for ref in refs:
            self._report(f"deleted {ref}")

    async def _delete(self, ref: ObjectRef, propagation: str = "Background") -> None:
        options = msgspec.json.encode({"propagationPolicy": propagation})
        await self._ignore_missing(self._client.request("DELETE", ref.path, options))

    async def _wait_until_gone(self, refs: Sequence[ObjectRef]) -> None:
        deadline = time.monotonic() + self._seconds
        left = list(refs)
        while left:
            left = [ref for ref in left if await self._exists(ref)]
            if left and time.monotonic() > deadline:
                message = f"objects have not been deleted within {self._seconds:g} seconds"
                raise UninstallError(message, [str(ref) for ref in left])
            await asyncio.sleep(PAUSE_SECONDS if left else 0)

    async def _exists(self, ref: ObjectRef) -> bool:
        try:
            await self._client.request("GET", ref.path)
        except StatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _release(self, kind: type[Model], metadata: ObjectMeta, finalizer: str) -> None:
        """Remove our finalizer from an object; finalizers of other programs are preserved."""

        def remove(current: ObjectMeta) -> JsonObject | None:
            finalizers = current.finalizers or []
            if finalizer not in finalizers:
                return None
            return {"finalizers": [one for one in finalizers if one != finalizer] or None}

        await self._change(kind, metadata, remove)

    async def _change(
        self, kind: type[Model], metadata: ObjectMeta, decide: Callable[[ObjectMeta], JsonObject | None]
    ) -> None:
        """Patch an object's metadata with the result of `decide` for its current metadata; retry on a conflict."""
        name, namespace = metadata.name or "", metadata.namespace or ""
        for attempt in range(1, MAX_CONFLICTS + 1):
            try:
                current = metadata_of(await self._client.get(kind, name, namespace))
                patch = decide(current)
                if patch is not None and current.uid == metadata.uid:
                    patched = {"metadata": {**patch, "resourceVersion": current.resource_version}}
                    await self._client.patch(kind, name, namespace, patch=patched)
            except StatusError as error:
                if error.code == 409 and attempt < MAX_CONFLICTS:
                    continue
                if error.code != 404:
                    raise
            return

    async def _ignore_missing(self, request: Awaitable[object]) -> None:
        try:
            await request
        except StatusError as error:
            if error.code != 404:
                raise


def _detach(metadata: ObjectMeta, owners: frozenset[str]) -> JsonObject | None:
    references = metadata.owner_references or []
    kept = [one for one in references if one.uid not in owners]
    return {"ownerReferences": msgspec.to_builtins(kept) or None} if len(kept) < len(references) else None


def _explain_finalizers(metadata: ObjectMeta) -> str:
    return f"finalizers {', '.join(metadata.finalizers or ()) or 'none'}"


def _name(metadata: ObjectMeta) -> str:
    return f"{metadata.namespace}/{metadata.name}"
