"""
Read the status of a guest from its pod.

The functions are pure. If a pod was deleted, evicted, killed or lost with its node, its guest has failed; the VM's run
strategy decides what happens next.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from virtshape.api.codec import decode
from virtshape.api.core.podspec import Pod
from virtshape.api.core.podstatus import ContainerStateTerminated, ContainerStatus, PodCondition, PodStatus
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.status import VirtualMachineInstanceNetworkInterface
from virtshape.api.launcherpod import INSTANCE_VARIABLE, TerminationMessage, parse_termination_message
from virtshape.api.problems import DecodeError
from virtshape.controllers.pods.naming import CONTAINER, PAUSED_ANNOTATION
from virtshape.controllers.vmi.gueststatus import GuestState, GuestStatus
from virtshape.controllers.vmi.phases import phase_of

UNSCHEDULABLE: Final = "Unschedulable"
DISRUPTION: Final = "DisruptionTarget"
LOST: Final = "NodeLost"
_OUT_OF_MEMORY: Final = "OOMKilled"
_USUAL_WAITS: Final = ("", "ContainerCreating", "PodInitializing")


def read_pod(pod: Pod, vmi: VirtualMachineInstance) -> GuestStatus:
    """Return the status of the guest in a pod."""
    status = pod.status or PodStatus()
    state, reason, message, unready = _get_state(pod, status, vmi)
    metadata, node = pod.metadata, (pod.spec.node_name if pod.spec else None) or ""
    return GuestStatus(
        state,
        message,
        reason,
        interfaces=tuple(_list_interfaces(status, vmi)),
        node=node,
        pods={metadata.uid or "": node},
        image=_find_image(pod),
        user=_find_user(pod),
        qos=status.qos_class,  # type: ignore[arg-type]  # the server uses these values
        unready=unready,
    )


def _find_image(pod: Pod) -> str:
    containers = (pod.spec.containers if pod.spec else None) or ()
    return next((one.image for one in containers if one.name == CONTAINER and one.image), "")


def _find_user(pod: Pod) -> int | None:
    context = pod.spec.security_context if pod.spec else None
    return context.run_as_user if context is not None else None


def read_missing_pod(vmi: VirtualMachineInstance, last: Pod | None) -> GuestStatus:
    """Return the status of a guest whose pod no longer exists; `last` is the pod as last seen, or None."""
    if last is None:
        return GuestStatus("failed", "the guest's pod no longer exists", "PodLost", pods={})
    guest = read_pod(last, vmi)
    if guest.state == "failed":
        return replace(guest, pods={})
    reason, message = _explain_removal(last, last.status or PodStatus()) or ("PodDeleted", _name_deleted(last))
    return GuestStatus("failed", message, reason, pods={})


def _get_state(pod: Pod, status: PodStatus, vmi: VirtualMachineInstance) -> tuple[GuestState, str, str, str]:
    """Return state, reason and message of the guest, and the reason why a running guest is not ready, if any."""
    container = _find_container(status)
    match status.phase:
        case "Succeeded" if (removal := _explain_removal(pod, status)) is not None:
            return "failed", *removal, ""
        case "Succeeded":
            return "succeeded", "", _read_termination_message(container).message or "the guest has shut down", ""
        case "Failed":
            reason, message = _explain_failure(pod, status, container)
            return "failed", reason, message, ""
        case "Running" | "Unknown" if container is not None and container.state and container.state.running:
            return _get_running_state(pod, status, container, vmi)
        case _:
            return _get_pending_state(pod, status, container)


def _get_running_state(
    pod: Pod, status: PodStatus, container: ContainerStatus, vmi: VirtualMachineInstance
) -> tuple[GuestState, str, str, str]:
    if not _has_started(pod, container) and phase_of(vmi) != "Running":
        return "starting", "", "", ""
    if _is_paused(pod, vmi):
        return "paused", "PausedByUser", "", ""
    return "running", "", "", _explain_unready(pod, status, container)


def _has_started(pod: Pod, container: ContainerStatus) -> bool:
    """Return True if the startup probe succeeded; pods of earlier releases have only a readiness probe."""
    containers = (pod.spec.containers if pod.spec else None) or ()
    has_probe = any(one.name == CONTAINER and one.startup_probe is not None for one in containers)
    return container.ready or (has_probe and bool(container.started))


def _is_paused(pod: Pod, vmi: VirtualMachineInstance) -> bool:
    annotations = pod.metadata.annotations or {}
    said = annotations.get(PAUSED_ANNOTATION)
    return said == "true" if said is not None else vmi.spec.start_strategy == "Paused"


def _explain_unready(pod: Pod, status: PodStatus, container: ContainerStatus) -> str:
    node = (pod.spec.node_name if pod.spec else None) or ""
    ready = _find_condition(status, "Ready")
    if status.phase == "Unknown" or LOST in (status.reason, ready.reason if ready else None):
        return f"node {node} does not respond"
    if pod.metadata.deletion_timestamp is not None:
        return "the guest's pod is being deleted"
    if ready is not None and ready.status == "False":
        return ready.message or "the guest's pod is not ready"
    return "" if container.ready else "the guest's container is not ready"


def _get_pending_state(
    pod: Pod, status: PodStatus, container: ContainerStatus | None
) -> tuple[GuestState, str, str, str]:
    if pod.spec is None or not pod.spec.node_name:
        scheduled = _find_condition(status, "PodScheduled")
        if scheduled is not None and scheduled.status == "False":
            return "placing", scheduled.reason or UNSCHEDULABLE, scheduled.message or "no node can run the pod", ""
        return "placing", "", "", ""
    waiting = container.state.waiting if container is not None and container.state is not None else None
    reason = (waiting.reason if waiting else None) or ""
    if reason in _USUAL_WAITS:
        return "starting", "", "", ""
    return "waiting", reason, (waiting.message if waiting else None) or reason, ""


def _explain_failure(pod: Pod, status: PodStatus, container: ContainerStatus | None) -> tuple[str, str]:
    """Return reason and message of a failed pod, as set by the node or else by the launcher."""
    ended = _find_end(container)
    if status.reason:  # the node has set a reason, such as Evicted
        return status.reason, status.message or f"the pod was terminated: {status.reason}"
    if ended is not None and ended.reason == _OUT_OF_MEMORY:
        return _OUT_OF_MEMORY, "the guest's pod exceeded its memory limit and was killed"
    removal = _explain_removal(pod, status)
    if removal is not None:
        return removal
    said = _read_termination_message(container)
    if said.message:
        return said.reason or "Failed", said.message
    if ended is not None:
        how = f"on signal {ended.signal}" if ended.signal else f"with status {ended.exit_code}"
        return ended.reason or "Failed", f"the launcher exited {how}"
    return "Failed", status.message or f"pod {pod.metadata.name or ''} has failed"


def _explain_removal(pod: Pod, status: PodStatus) -> tuple[str, str] | None:
    """Return reason and message if the pod was evicted or deleted; None otherwise."""
    disrupted = _find_condition(status, DISRUPTION)
    name = pod.metadata.name or ""
    if disrupted is not None and disrupted.status == "True":
        return "Evicted", f"pod {name} was evicted: {disrupted.message or disrupted.reason or 'no reason given'}"
    if pod.metadata.deletion_timestamp is not None:
        return "PodDeleted", _name_deleted(pod)
    return None


def _name_deleted(pod: Pod) -> str:
    return f"pod {pod.metadata.name or ''} was deleted"


def _read_termination_message(container: ContainerStatus | None) -> TerminationMessage:
    ended = _find_end(container)
    return parse_termination_message((ended.message if ended else None) or "")


def _find_end(container: ContainerStatus | None) -> ContainerStateTerminated | None:
    return container.state.terminated if container is not None and container.state is not None else None


def _find_container(status: PodStatus) -> ContainerStatus | None:
    return next((one for one in status.container_statuses or () if one.name == CONTAINER), None)


def _find_condition(status: PodStatus, name: str) -> PodCondition | None:
    return next((one for one in status.conditions or () if one.type == name), None)


def _list_interfaces(
    status: PodStatus, vmi: VirtualMachineInstance
) -> Iterator[VirtualMachineInstanceNetworkInterface]:
    """Yield the interface on the pod network, with the pod's addresses."""
    networks = {network.name for network in vmi.spec.networks or () if network.pod is not None}
    addresses = [one.ip for one in status.pod_ips or ()] or ([status.pod_ip] if status.pod_ip else [])
    for interface in vmi.spec.domain.devices.interfaces or ():
        if interface.name in networks and addresses:
            yield VirtualMachineInstanceNetworkInterface(
                name=interface.name,
                mac=interface.mac_address,
                ip_address=addresses[0],
                ip_addresses=addresses,
                info_source="domain",
            )


def add_report(guest: GuestStatus, reported: GuestStatus) -> GuestStatus:
    """Return the status read from a pod, with the details that the launcher in the pod reported."""
    names = {one.name for one in guest.interfaces}
    interfaces = [_merge_interface(one, reported.interfaces) for one in guest.interfaces]
    others = [one for one in reported.interfaces if one.name not in names]
    return replace(
        guest,
        substitutions=reported.substitutions,
        machine=reported.machine,
        interfaces=(*interfaces, *others),
        volumes=reported.volumes,
        ports=reported.ports,
        agent=reported.agent,
        logins=reported.logins,
        os=reported.os,
        unready=reported.unready if guest.unready and reported.unready else guest.unready,
    )


def _merge_interface(
    found: VirtualMachineInstanceNetworkInterface, reported: Sequence[VirtualMachineInstanceNetworkInterface]
) -> VirtualMachineInstanceNetworkInterface:
    """Return the reported interface with the pod's addresses, because the addresses in the guest are not reachable."""
    one = next((one for one in reported if one.name == found.name), found)
    return replace(one, mac=one.mac or found.mac, ip_address=found.ip_address, ip_addresses=found.ip_addresses)


def find_made_spec(pod: Pod) -> VirtualMachineInstanceSpec | None:
    """Return the instance spec that the pod was created from, or None if it cannot be read."""
    for container in (pod.spec.containers if pod.spec else None) or ():
        for variable in container.env or ():
            if container.name == CONTAINER and variable.name == INSTANCE_VARIABLE and variable.value:
                try:
                    return decode(variable.value.encode(), VirtualMachineInstance).spec
                except (DecodeError, msgspec.DecodeError):
                    return None
    return None
