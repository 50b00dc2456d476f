"""
What an instance may ask for that a pod cannot give it, told instead of left out.

Pure.
"""

from collections.abc import Iterator

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def explain_refusal(spec: VirtualMachineInstanceSpec) -> str:
    """Why no pod can run the instance, each field with its reason; empty if one can."""
    return "; ".join(_find_refusals(spec))


def _find_refusals(spec: VirtualMachineInstanceSpec) -> Iterator[str]:
    for number, filesystem in enumerate(spec.domain.devices.filesystems or ()):
        yield f"spec.domain.devices.filesystems[{number}]: {filesystem.name} cannot be shared with a guest in a pod"
    for number, network in enumerate(spec.networks or ()):
        if network.pod is None:
            yield f"spec.networks[{number}]: only the pod's own network reaches a guest in a pod"
    for number, volume in enumerate(spec.utility_volumes or ()):
        yield f"spec.utilityVolumes[{number}]: {volume.name} cannot be added to a guest in a pod"
