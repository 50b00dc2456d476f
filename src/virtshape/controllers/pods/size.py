"""Compare the size of a guest in a pod with the size of its instance: a pod cannot be resized."""

import msgspec
from msgspec.structs import replace

from virtshape.api.codec import decode
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.launcherpod import INSTANCE_VARIABLE
from virtshape.api.problems import DecodeError
from virtshape.controllers.pods.naming import CONTAINER
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.gueststatus import GuestStatus


def compare_pod_size(guest: GuestStatus, vmi: VirtualMachineInstance, pod: Pod) -> GuestStatus:
    """Return the guest status with its actual size, and a message if the instance has another size."""
    if guest.state not in ("running", "paused"):
        return guest
    made = _find_made(pod)
    if made is None:
        return guest
    cpu, memory = made.domain.cpu, made.domain.memory
    topology = CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads) if cpu is not None else None
    has, wanted = measure(made), measure(vmi.spec)
    resize_error = ""
    if (has.vcpus, has.memory) != (wanted.vcpus, wanted.memory):
        resize_error = (
            f"a pod cannot be resized: restart the VM to get {wanted.vcpus} vCPUs and {wanted.memory} of memory"
        )
    return replace(guest, topology=topology, memory=memory.guest if memory else None, resize_error=resize_error)


def _find_made(pod: Pod) -> VirtualMachineInstanceSpec | None:
    """Return the instance spec that the pod was created from."""
    for container in (pod.spec.containers if pod.spec else None) or ():
        for variable in container.env or ():
            if container.name == CONTAINER and variable.name == INSTANCE_VARIABLE and variable.value:
                try:
                    return decode(variable.value.encode(), VirtualMachineInstance).spec
                except (DecodeError, msgspec.DecodeError):
                    return None
    return None
