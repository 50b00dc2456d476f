"""Rules for fields that few guests set. Each rule runs only if its field is set, so that admission is fast."""

from collections.abc import Sequence

from virtshape.admission.rules.affinity import check_affinity
from virtshape.admission.rules.architecture import check_architecture
from virtshape.admission.rules.credentials import check_credentials
from virtshape.admission.rules.disks import check_disk_volumes
from virtshape.admission.rules.firmware import check_acpi_tables
from virtshape.admission.rules.hyperv import check_hyperv
from virtshape.admission.rules.launchsecurity import check_launch_security
from virtshape.admission.rules.names import is_label
from virtshape.admission.rules.resourceclaims import check_claims
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def check_optional(spec: VirtualMachineInstanceSpec, root: str) -> Sequence[FieldError]:
    """Return the violations in optional fields of a VMI spec before expansion; `root` is the spec's field path."""
    found: list[FieldError] = []
    domain, devices = spec.domain, spec.domain.devices
    if spec.access_credentials:
        found += check_credentials(spec.access_credentials, spec.volumes or (), f"{root}.accessCredentials")
    if spec.affinity is not None:
        found += check_affinity(spec.affinity, f"{root}.affinity")
    if domain.features is not None and domain.features.hyperv is not None:
        found += check_hyperv(domain.features, domain.features.hyperv, domain.cpu, f"{root}.domain.features.hyperv")
    if domain.firmware is not None and domain.firmware.acpi is not None:
        found += check_acpi_tables(domain.firmware.acpi, spec.volumes or (), f"{root}.domain.firmware.acpi")
    if spec.utility_volumes:
        reason = "cannot create VMI with utility volumes in spec, utility volumes can only be added via hotplug"
        found.append(FieldError(f"{root}.utilityVolumes", f"{reason}: remove them", rule="impossible-combination"))
    if spec.resource_claims or devices.gpus or devices.host_devices or _has_claimed_network(spec):
        found += check_claims(spec, root)
    if devices.disks and _has_odd_disk(spec):
        found += check_disk_volumes(devices.disks, spec.volumes or (), f"{root}.domain.devices.disks")
    return found


def check_optional_complete(spec: VirtualMachineInstanceSpec, root: str) -> Sequence[FieldError]:
    """Return the violations in optional fields of a VMI spec after expansion; `root` is the spec's field path."""
    found: list[FieldError] = []
    if spec.domain.launch_security is not None:
        found += check_launch_security(spec, spec.domain.launch_security, root)
    if spec.architecture != "amd64" or spec.domain.devices.watchdog is not None:
        found += check_architecture(spec, root)
    return found


def _has_claimed_network(spec: VirtualMachineInstanceSpec) -> bool:
    for network in spec.networks or ():  # noqa: SIM110 - a generator is slower than the loop
        if network.resource_claim is not None:
            return True
    return False


def _has_odd_disk(spec: VirtualMachineInstanceSpec) -> bool:
    for disk in spec.domain.devices.disks or ():
        if disk.lun is not None or not is_label(disk.name):
            return True
    for volume in spec.volumes or ():  # noqa: SIM110 - a generator is slower than the loop
        if volume.downward_metrics is not None:
            return True
    return False
