"""
VM controller: pin VMs to revisions, create and delete their instances, and update their status.

Each reconcile does the next step. Each step can be repeated, and its result is written before later steps depend on
it.
"""

from collections import Counter
from typing import Final

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.cdi import DataVolume
from virtshape.api.core.node import Node
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec, is_final
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import (
    ALWAYS,
    START,
    STOP,
    EffectiveSize,
    VirtualMachine,
    VirtualMachineStateChangeRequest,
    VirtualMachineStatus,
    run_strategy,
)
from virtshape.api.ownerreferences import find_controller, is_controlled_by
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, format_time
from virtshape.api.wellknown import KUBEVIRT, VM_FINALIZER
from virtshape.client.cache import Change
from virtshape.client.protocol import Client
from virtshape.controllers.garbage.decisions import ORPHAN
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.vm.datavolumes import USABLE_PHASES, build_data_volumes, list_volume_phases
from virtshape.controllers.vm.liveupdate import decide_live_change, set_hotplug_limits
from virtshape.controllers.vm.newvmi import (
    adopt,
    build_instance,
    has_other_revisions,
    name_start_revision_of,
    rename_sources,
)
from virtshape.controllers.vm.revisionobjects import (
    has_changed_since,
    refer_to_revisions,
)
from virtshape.controllers.vm.revisions import Names, Revisions
from virtshape.controllers.vm.runstrategy import (
    Decision,
    decide_run,
    drop_done_requests,
    is_being_deleted,
    needs_rerun,
    starts_again,
)
from virtshape.controllers.vm.status import ConditionReason, StatusInputs, make_status, measure, started_generation
from virtshape.controllers.vm.volumerequests import (
    apply_volume_requests,
    describe_volume_change,
    drop_done_volume_requests,
    keep_volumes,
    predict_volumes,
)
from virtshape.controllers.vm.volumestatus import explain_wait, is_unreported
from virtshape.controllers.vmi.nodefit import Demand, check_fit, measure_demand
from virtshape.controllers.vmi.phases import phase_of, uses_node
from virtshape.engine.volumehotplug import follow_volumes
from virtshape.resolve.reference import NotFoundError

_INVALID: Final = 422
STARTED_SECONDS: Final = 0.1
"""Time after which the status of a VM shows that it starts, unless its instance changes earlier."""
_FAILED_FINDS: Final = {
    "instancetype": "FailedFindInstancetype",
    "flavor": "FailedFindFlavor",
    "preference": "FailedFindPreference",
}


class VmReconciler:
    """Reconciles VMs through a client."""

    def __init__(
        self, client: Client, cache: Cache, recorder: EventRecorder, clock: Clock, *, on_cluster: bool = False
    ) -> None:
        """
        Set up the reconciler.

        With `on_cluster`, volumes are not attached to running guests, and the cluster checks whether guests fit on
        their nodes.
        """
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._on_cluster = on_cluster
        self._revisions = Revisions(client, cache)

    def observe_revision(self, change: Change[ControllerRevision]) -> None:
        """Update the local state of shared revisions after a change to a revision."""
        self._revisions.observe(change)

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one VM."""
        vm = self._cache.find(VirtualMachine, name.name, name.namespace)
        if vm is None:
            return DONE
        vmi = await self._claim_instance(vm)
        if vm.metadata.deletion_timestamp is not None:
            return await self._finish(vm, vmi)
        configuration = self._configuration()
        before = vm
        try:
            vm, names = await self._revisions.ensure_revisions(vm, configuration, VM_FINALIZER)
        except NotFoundError:
            await self._stop_without_revisions(vm, vmi)
            raise
        self._report_captured(before, vm, names)
        is_current = vm is not before  # the VM was just written, so this is its current version
        vm = replace(vm, status=refer_to_revisions(vm, names))
        if await self._apply_volume_requests(vm):
            return DONE  # the VM is reconciled again once its new spec is in the cache
        vm = drop_done_volume_requests(vm)
        if await self._make_data_volumes(vm):
            return DONE  # the VM is reconciled again once the DataVolumes are in the cache
        return await self._run(vm, vmi, configuration, is_current=is_current)

    async def report(self, name: Name, error: Exception) -> None:
        """Report a failed reconcile in the VM's status and as an event."""
        vm = self._cache.find(VirtualMachine, name.name, name.namespace)
        if vm is None:
            return
        failure = describe_failure(error, vm)
        vmi = self._cache.find(VirtualMachineInstance, name.name, name.namespace)
        if vmi is not None and not is_controlled_by(vmi.metadata, vm):
            vmi = None
        self._recorder.event(vm, failure.reason, failure.message, warning=True)
        status = vm.status or VirtualMachineStatus()
        seen = StatusInputs(
            vmi=vmi,
            failure=failure,
            requests=status.state_change_requests or (),
            volume_phases=list_volume_phases(vm, self._cache),
            waiting=explain_wait(vm, self._cache),
        )
        now = self._clock()
        reported = make_status(vm, seen, now, format_time(now))
        # The status must not claim that this generation is reconciled.
        reported.desired_generation = status.desired_generation
        await self._write_status(vm, reported)

    def _configuration(self) -> KubeVirtConfiguration | None:
        installed = self._cache.find(KubeVirt, KUBEVIRT, KUBEVIRT)
        return installed.spec.configuration if installed is not None and installed.spec is not None else None

    async def _claim_instance(self, vm: VirtualMachine) -> VirtualMachineInstance | None:
        """
        Return the VM's instance, or None; adopt an instance without a controller.

        Raise StatusError if the instance has another controller, or has none and is being deleted.
        """
        metadata = vm.metadata
        vmi = self._cache.find(VirtualMachineInstance, metadata.name or "", metadata.namespace or "")
        if vmi is None or is_controlled_by(vmi.metadata, vm):
            return vmi
        if metadata.deletion_timestamp is not None:
            return None
        if find_controller(vmi.metadata) is not None or is_being_deleted(vmi):
            message = f"VMI {metadata.name} already exists and is not owned by this VM: delete it or rename the VM"
            raise StatusError(409, "FailedCreate", message)
        vmi = await self._client.update(adopt(vmi, vm))
        self._recorder.event(vm, "SuccessfulAdopt", f"Adopted the VMI {metadata.name}, which had no controller")
        return vmi

    async def _finish(self, vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> Result:
        """Delete the instance of a VM that is being deleted, unless it is orphaned; then remove the VM's finalizer."""
        metadata = vm.metadata
        finalizers = metadata.finalizers or []
        if VM_FINALIZER not in finalizers:
            return DONE
        if vmi is not None and ORPHAN not in finalizers:
            await self._observe(vm, StatusInputs(vmi=vmi))
            if not is_being_deleted(vmi):
                await self._stop(vm, vmi, "the VM is being deleted")
            return DONE
        left = [one for one in finalizers if one != VM_FINALIZER]
        await self._client.update(replace(vm, metadata=replace(metadata, finalizers=left or None)))
        return DONE

    def _report_captured(self, before: VirtualMachine, vm: VirtualMachine, names: Names) -> None:
        if vm is before:
            return
        if names:
            kept = ", ".join(f"the {role} as {name}" for role, name in names.items())
            self._recorder.event(vm, "SuccessfulCapture", f"captured {kept}")

    async def _make_data_volumes(self, vm: VirtualMachine) -> bool:
        """Create missing DataVolumes; return True if some DataVolumes are not in the cache yet."""
        unseen = False
        for wanted in build_data_volumes(vm):
            metadata = wanted.metadata
            name, namespace = metadata.name or "", metadata.namespace or ""
            if self._cache.find(DataVolume, name, namespace) is not None:
                continue
            try:
                await self._client.create(wanted)
            except StatusError as error:
                if error.code == 404 and error.details.kind is None:  # the server does not serve the resource
                    message = f"cannot create DataVolume {name}: the server does not serve DataVolumes; install CDI"
                    raise StatusError(501, "DataVolumesNotServed", message) from error
                if error.reason != "AlreadyExists":
                    raise
            else:
                self._recorder.event(vm, "SuccessfulDataVolumeCreate", f"created DataVolume {name}")
            unseen = True
        return unseen

    async def _apply_volume_requests(self, vm: VirtualMachine) -> bool:
        """
        Apply the pending volume requests to the template, or discard them if the result is invalid.

        Return True if the VM or its status was written.
        """
        changed = apply_volume_requests(vm)
        if changed is vm:
            return False
        try:
            await self._client.update(changed)
        except StatusError as error:
            if error.code != _INVALID:
                raise
            self._recorder.event(vm, "FailedVolumeRequest", error.message, warning=True)
            status = replace(vm.status or VirtualMachineStatus(), volume_requests=None)
            await self._write_status(vm, status)
        return True

    async def _run(
        self,
        vm: VirtualMachine,
        vmi: VirtualMachineInstance | None,
        configuration: KubeVirtConfiguration | None,
        *,
        is_current: bool,
    ) -> Result:
        asked = (vm.status.state_change_requests if vm.status else None) or ()
        requests = drop_done_requests(asked, vmi, run_strategy(vm.spec))
        now = self._clock()
        decision = decide_run(vm, vmi, requests, now)
        if decision.action == "stop" and vmi is not None and needs_rerun(vm, vmi) and not requests:
            uid = vmi.metadata.uid or ""
            requests = [VirtualMachineStateChangeRequest(STOP, uid=uid), VirtualMachineStateChangeRequest(START)]
        phases = list_volume_phases(vm, self._cache)
        ready = all(phase in USABLE_PHASES for phase in phases)
        if decision.action == "start" and ready:
            await self._start(vm, requests, configuration, is_current=is_current)
            # The next reconcile writes one status for the start and its outcome.
            return Result(after=STARTED_SECONDS, postpone=True)
        if decision.action == "set running":
            await self._switch_on(vm)
            return DONE
        vmi, restart_reason = await self._follow_changes(vm, vmi, configuration)
        seen = StatusInputs(
            vmi=vmi,
            requests=requests,
            volume_phases=phases,
            waiting=None if ready else explain_wait(vm, self._cache),
            restart_reason=restart_reason,
            effective=await self._measure(vm, vmi, configuration),
            starting=decision.action == "start",
            run_strategy=run_strategy(vm.spec) if decision.action in ("nothing", "stop") else None,
        )
        if seen.starting and seen.waiting is not None and is_unreported(vm, seen.waiting):
            self._recorder.event(vm, seen.waiting.reason, seen.waiting.message, warning=True)
        await self._observe(vm, seen)
        if decision.action == "stop" and vmi is not None:
            await self._stop(vm, vmi, decision.reason)
        return self._wait(decision)

    def _wait(self, decision: Decision) -> Result:
        return Result(after=decision.seconds) if decision.action == "wait" else DONE

    async def _start(
        self,
        vm: VirtualMachine,
        requests: list[VirtualMachineStateChangeRequest],
        configuration: KubeVirtConfiguration | None,
        *,
        is_current: bool,
    ) -> None:
        shape = await self._revisions.get_shape(vm)
        wanted = build_instance(vm, shape, configuration, requests[0] if requests else None)
        wanted = set_hotplug_limits(wanted, configuration)
        if not is_current:
            await self._require_unchanged(vm)
        await self._revisions.store_start_revision(vm)
        await self._client.create(wanted)
        self._recorder.event(
            vm, "SuccessfulCreate", f"Started the virtual machine by creating the new VMI {_name(wanted)}"
        )

    async def _stop_without_revisions(self, vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> None:
        """If the instance of a VM with missing revisions must stop, stop it; do not restart a running guest."""
        strategy = run_strategy(vm.spec)
        requests = drop_done_requests((vm.status.state_change_requests if vm.status else None) or (), vmi, strategy)
        decision = decide_run(vm, vmi, requests, self._clock())
        if vmi is None or decision.action != "stop":
            return
        if is_final(vmi) or not starts_again(strategy, requests):
            await self._stop(vm, vmi, decision.reason)

    async def _require_unchanged(self, vm: VirtualMachine) -> None:
        """Raise StatusError 409 if the VM was modified since it was read, because a start cannot be undone."""
        metadata = vm.metadata
        current = await self._client.get(VirtualMachine, metadata.name or "", metadata.namespace or "")
        if current.metadata.resource_version != metadata.resource_version:
            raise StatusError(409, "Conflict", "the VM was modified after it was read")

    async def _stop(self, vm: VirtualMachine, vmi: VirtualMachineInstance, reason: str) -> None:
        metadata = vmi.metadata
        try:
            await self._client.delete(
                VirtualMachineInstance, metadata.name or "", metadata.namespace or "", uid=metadata.uid or ""
            )
        except StatusError as error:
            if error.code != 404:
                raise
        message = f"Stopped the virtual machine by deleting the VMI {metadata.name}: {reason}"
        self._recorder.event(vm, "SuccessfulDelete", message)

    async def _switch_on(self, vm: VirtualMachine) -> None:
        """Set the run strategy of a halted VM to Always, or `running` to True, because a start was requested."""
        on = replace(vm.spec, run_strategy=ALWAYS) if vm.spec.run_strategy else replace(vm.spec, running=True)
        await self._client.update(replace(vm, spec=on))

    async def _follow_changes(
        self, vm: VirtualMachine, vmi: VirtualMachineInstance | None, configuration: KubeVirtConfiguration | None
    ) -> tuple[VirtualMachineInstance | None, str]:
        """Apply live changes to the instance; return the instance, and the reason to restart it, if any."""
        if vmi is None or is_being_deleted(vmi) or started_generation(vmi) is None:
            return vmi, ""
        is_upgraded = has_other_revisions(vmi, vm)
        if started_generation(vmi) == vm.metadata.generation and not is_upgraded:
            return vmi, ""
        start = await self._revisions.find_revision(vm, name_start_revision_of(vmi) or "")
        wanted = build_instance(vm, await self._revisions.get_shape(vm), configuration).spec
        if not self._on_cluster:
            vmi = await self._follow_volumes(vm, vmi, wanted)
        has_changed = is_upgraded or start is None or has_changed_since(vm, start)
        if not has_changed and measure(wanted) == measure(vmi.spec):
            return vmi, ""  # any other difference comes from the configuration
        change = decide_live_change(vmi if self._on_cluster else predict_volumes(vmi, wanted), wanted, configuration)
        if change.spec is None:
            return vmi, change.restart_reason
        grown = keep_volumes(change.spec, vmi.spec)
        unfit = self._check_node(vmi, grown, configuration)
        if unfit:
            return vmi, unfit
        vmi = await self._client.update(replace(vmi, metadata=rename_sources(vm, vmi.metadata), spec=grown))
        size = measure(grown)
        self._recorder.event(
            vm, "LiveChange", f"resizing the instance to {size.vcpus} vCPUs and {size.memory} of memory"
        )
        return vmi, change.restart_reason

    async def _follow_volumes(
        self, vm: VirtualMachine, vmi: VirtualMachineInstance, wanted: VirtualMachineInstanceSpec
    ) -> VirtualMachineInstance:
        """Add and remove hotpluggable volumes of a running instance to match its VM; return the instance."""
        if phase_of(vmi) != "Running":
            return vmi
        detaching = {one.name for one in (vmi.status.volume_status if vmi.status else None) or ()}
        spec = follow_volumes(vmi.spec, wanted, detaching)
        if spec is vmi.spec:
            return vmi
        followed = await self._client.update(replace(vmi, spec=spec))
        self._recorder.event(vm, "VolumesChanged", describe_volume_change(vmi.spec, spec))
        return followed

    def _check_node(
        self,
        vmi: VirtualMachineInstance,
        grown: VirtualMachineInstanceSpec,
        configuration: KubeVirtConfiguration | None,
    ) -> str:
        """Return why the grown instance does not fit on its node; empty if it fits, or if the cluster checks that."""
        name = (vmi.status.node_name if vmi.status is not None else None) or ""
        node = self._cache.find(Node, name) if name and not self._on_cluster else None
        if node is None:
            return ""
        others = [
            one.spec
            for one in self._cache.list(VirtualMachineInstance)
            if one.metadata.uid != vmi.metadata.uid and uses_node(one, name)
        ]
        used = sum((Counter(measure_demand(spec, configuration).amounts) for spec in others), Counter[str]())
        # Scheduling constraints do not count, because the instance already runs on this node.
        demand = Demand(measure_demand(grown, configuration).amounts)
        misfits = check_fit(demand, node, used)
        return f"node {name} {', '.join(misfits)}" if misfits else ""

    async def _measure(
        self, vm: VirtualMachine, vmi: VirtualMachineInstance | None, configuration: KubeVirtConfiguration | None
    ) -> EffectiveSize | None:
        """Return the VM's size, or None if its status already contains the size for this generation."""
        status, generation = vm.status, vm.metadata.generation
        if status is not None and status.effective is not None and status.desired_generation == generation:
            return None
        if vmi is not None and started_generation(vmi) == generation and not has_other_revisions(vmi, vm):
            return measure(vmi.spec)
        return measure(build_instance(vm, await self._revisions.get_shape(vm), configuration).spec)

    async def _observe(self, vm: VirtualMachine, seen: StatusInputs) -> None:
        now = self._clock()
        await self._write_status(vm, make_status(vm, seen, now, format_time(now)))

    async def _write_status(self, vm: VirtualMachine, status: VirtualMachineStatus) -> None:
        """Write the status, unless the cached VM has the same resourceVersion and status."""
        metadata = vm.metadata
        cached = self._cache.find(VirtualMachine, metadata.name or "", metadata.namespace or "")
        seen = cached.metadata.resource_version if cached is not None else None
        if cached is not None and seen == metadata.resource_version and cached.status == status:
            return
        await self._client.update_status(replace(vm, status=status))


def describe_failure(error: Exception, vm: VirtualMachine) -> ConditionReason:
    """Return reason and message of a failure for a condition and an event."""
    if isinstance(error, NotFoundError):
        role = error.field.removeprefix("spec.").removeprefix("status.").partition(".")[0]
        message = error.message
        if error.reference.kind == "ControllerRevision":
            label = "instance type" if role == "instancetype" else role
            message += (
                f": the copy of the {label} that this VM uses does not exist; to use the current {label}, "
                f"run: virtctl upgrade {vm.metadata.name} -n {error.reference.namespace}"
            )
        return ConditionReason(_FAILED_FINDS.get(role, "NotFound"), message)
    if isinstance(error, StatusError):
        return ConditionReason(error.reason or "FailedSync", error.message)
    return ConditionReason("InternalError", str(error) or type(error).__name__)


def _name(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.name or ""
