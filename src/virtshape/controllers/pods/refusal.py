"""
Reasons why no pod can run an instance: unsupported fields and host access that is not permitted.

Pure. Admission checks host access too, but the instance may have been stored before the configuration changed.
"""

from collections.abc import Iterator

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.hostaccess import check_host_access, explain_host_disks


def explain_refusal(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> str:
    """Return why no pod can run the instance, field by field; empty if one can."""
    unpermitted = check_host_access(spec, "spec", configuration, explain_host_disks(configuration))
    return "; ".join([*(f"{one.fields[0]}: {one.message}" for one in unpermitted), *_find_refusals(spec)])


def _find_refusals(spec: VirtualMachineInstanceSpec) -> Iterator[str]:
    for number, filesystem in enumerate(spec.domain.devices.filesystems or ()):
        yield f"spec.domain.devices.filesystems[{number}]: {filesystem.name} cannot be shared with a guest in a pod"
    for number, network in enumerate(spec.networks or ()):
        if network.pod is None:
            yield f"spec.networks[{number}]: only the pod's own network reaches a guest in a pod"
    for number, volume in enumerate(spec.utility_volumes or ()):
        yield f"spec.utilityVolumes[{number}]: {volume.name} cannot be added to a guest in a pod"
