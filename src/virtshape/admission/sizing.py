"""Validate instance types, flavors and preferences, and report deprecated fields; VMs are not considered."""

from collections.abc import Iterator
from typing import Any, Final

from virtshape.admission.checkresult import DEPRECATED, CheckResult
from virtshape.admission.instancetype import check_deprecated, check_instancetype, check_preference
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.model import Model
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP

_EFI_FIELDS: Final = {"preferred_use_efi": "preferredUseEfi", "preferred_use_secure_boot": "preferredUseSecureBoot"}


def check_sizing(found: Any) -> Iterator[FieldError]:
    """Yield all violations of an instance type, flavor or preference; nothing for other kinds."""
    instancetype = instancetype_spec(found)
    if instancetype is not None:
        version = _version_of(found)
        causes = check_instancetype(instancetype, version).causes
        yield from (cause._replace(rule="invalid-instancetype") for cause in causes)
        yield from check_deprecated(instancetype, version) if not causes else ()
    preference = preference_spec(found)
    if preference is not None:
        result = check_preference(preference)
        if found.api_version.startswith(FLAVOR_GROUP):  # this group lacks the replacements of deprecated fields
            yield from _report_preference(result._replace(warnings=[]))
        else:
            yield from _report_preference(result)
            yield from _check_deprecated(preference)


def _version_of(found: Model) -> str:
    version: str = getattr(found, "api_version", "").rpartition("/")[2]
    return version


def _report_preference(result: CheckResult) -> Iterator[FieldError]:
    for cause in result.causes:
        yield cause._replace(rule="invalid-preference")
    for warning in result.warnings:
        yield FieldError("spec.cpu.preferredCPUTopology", warning, rule=DEPRECATED)


def _check_deprecated(preference: VirtualMachinePreferenceSpec) -> Iterator[FieldError]:
    for attribute, name in _EFI_FIELDS.items():
        if preference.firmware is not None and getattr(preference.firmware, attribute) is not None:
            instead = "{}" if name == "preferredUseSecureBoot" else "{secureBoot: false}"
            message = f"{name} is deprecated: use preferredEfi, for example preferredEfi: {instead}"
            yield FieldError(f"spec.firmware.{name}", message, rule=DEPRECATED)
    if preference.prefer_spread_socket_to_core_ratio is not None:
        message = "preferSpreadSocketToCoreRatio is deprecated: use cpu.spreadOptions.ratio"
        yield FieldError("spec.preferSpreadSocketToCoreRatio", message, rule=DEPRECATED)
