"""
Templates of DataVolumes in a VM: each has a name of its own, and a volume that uses it.

Pure: yields violations.
"""

from collections.abc import Iterator

from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.violation import DEPRECATED, Violation
from virtshape.api.kubevirt.machine import VirtualMachineSpec


def check_templates(spec: VirtualMachineSpec) -> Iterator[Violation]:
    """Whether the VM can have its disks made from these."""
    if not spec.data_volume_templates:
        return
    volumes = (spec.template.spec.volumes if spec.template.spec else None) or ()
    used = {volume.data_volume.name for volume in volumes if volume.data_volume is not None}
    used |= {v.persistent_volume_claim.claim_name for v in volumes if v.persistent_volume_claim is not None}
    seen: set[str] = set()
    for index, template in enumerate(spec.data_volume_templates):
        at = f"spec.dataVolumeTemplates[{index}]"
        name = (template.metadata.name if template.metadata else None) or ""
        if not name:
            message = f"'name' field must not be empty for DataVolumeTemplate entry {at}."
            yield Violation("invalid-name", f"{at}.metadata.name", message)
        elif name in seen:
            message = f"two DataVolumeTemplates are named {name}: rename or remove one"
            yield Violation("duplicate-name", f"{at}.metadata.name", message)
        elif name not in used:
            words = "should be referenced in the VMI template's 'volumes' list"
            yield Violation(DEPRECATED, f"{at}.metadata.name", f"DataVolumeTemplate entry {at} {words}")
        seen.add(name)
        yield from check_data_volume(template.spec, f"{at}.spec")
