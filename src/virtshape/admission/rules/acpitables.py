"""Validate ACPI tables (Windows licenses): each must refer to a Secret volume of the guest."""

from collections.abc import Iterator, Sequence

from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.domain import ACPI
from virtshape.api.kubevirt.volume import Volume


def check_acpi_tables(acpi: ACPI, volumes: Sequence[Volume], at: str) -> Iterator[Violation]:
    """Check the volume references; `at` is the path of the ACPI settings."""
    if not acpi.slic_name_ref and not acpi.msdm_name_ref:
        message = "ACPI was set but no SLIC nor MSDM volume reference was set: add slicNameRef or msdmNameRef"
        yield Violation("one-of", at, message)
    by_name = {volume.name: volume for volume in volumes}
    for name, reference in (("slicNameRef", acpi.slic_name_ref), ("msdmNameRef", acpi.msdm_name_ref)):
        if not reference:
            continue
        volume = by_name.get(reference)
        if volume is None:
            message = f"{at} does not have a matching Volume: there is no {reference}"
            yield Violation("missing-volume", f"{at}.{name}", message)
        elif volume.secret is None:
            message = f"{at} refers to Volume of unsupported type: {reference} must have a secret"
            yield Violation("impossible-combination", f"{at}.{name}", message)
