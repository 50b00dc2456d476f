"""
Compare a result with the result of KubeVirt's own code, and ignore intended differences.

Each function below removes one difference and states its reason. `cases.py` lists the fields that questions omit.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from tests.conformance.compare import compare

from virtshape.api.model import JsonObject


def compare_with_kubevirt(question: JsonObject, want: JsonObject, got: JsonObject) -> list[str]:
    """Return the unintended differences; `want` is KubeVirt's result."""
    if got.get("crash"):
        return [f"crash: {got['traceback']}"]
    if "panic" not in want and ("refusals" in want or "refusals" in got):
        return _compare_verdicts(want, got)
    for drop in (
        _drop_stricter_reports,
        _drop_invalid_memory,
        _drop_fields_of_unknown_spreads,
        _drop_further_reports,
    ):
        got = drop(want, got)
    for adjust in (_sort_reports, _drop_zero_quantities, _drop_later_warnings, _drop_versions):
        want, got = adjust(want), adjust(got)
    return list(compare(_drop_overridden(question, want), _drop_overridden(question, got)))


STRICTER: Final = {
    "KubeVirt refuses the VMI that it creates later": (
        r"Arm64 (does )?not support",
        r"(SEV|SNP|TDX).* is only available on amd64",
        r"(amd64|s390x) only supports .* watchdog device",
        r"UEFI secure boot is currently not supported on aarch64",
        r"currently, host-passthrough is the only model supported on Arm64",
        r"video model '.*' is not supported on",
    ),
    "KubeVirt checks disks and interfaces before the preference is applied to the default ones": (
        r"Disk IO mode for .* is not supported",
        r".* is set with an unrecognized bus",
        r".*disks\[\d+\]\.cache has invalid value",
        r"interface .* uses model .* that is not supported",
    ),
    "libvirt or QEMU cannot start such a guest": (
        r".*filesystems\[\d+\]",
        r".*(gpus|hostDevices)\[\d+\] and .* must not have the same Name",
        r"Provided size of 0 is less than the supported minimum size",
        r".*sysprep must have exactly one of secret and configMap",
        r".*devices\.watchdog must have exactly one type set",
        r".*domain\.clock must have only one of utc and timezone",
        r'".*" is not supported: use one of (delay, catchup|poweroff, reset)',
        r".*domain\.memory\.guest '.*': must be greater than",
        r"'.*hyperv\..*' requires '.*hyperv\..*', which was disabled",
        r".*hyperv\.spinlocks\.spinlocks '\d+': must be greater than or equal to 4096",
        r"Cannot explicitly set hyperV features if HypervPassthrough is being used",
    ),
}
"""Patterns of errors that only virtshape reports, by reason."""
_STRICTER: Final = re.compile("|".join(pattern for patterns in STRICTER.values() for pattern in patterns))

_NO_MEMORY: Final = re.compile(r".*domain\.memory\.guest '.*': must be greater than 0")


LOOSER: Final = ("Memory hotplug is only available for x86_64 VMs",)
"""Errors that the tested KubeVirt version reports, and that later versions and virtshape do not report."""


def _compare_verdicts(want: JsonObject, got: JsonObject) -> list[str]:
    """Return how two decisions about a VM differ; the order of errors is not compared."""
    if not want["allowed"]:
        is_missed = got["allowed"] and not want["refusals"][0].startswith(LOOSER)
        return [f"allowed: KubeVirt refuses it: {want['refusals'][0]}"] if is_missed else []
    return [f"refused: {message}" for message in got["refusals"] if not _STRICTER.match(message)]


def _drop_stricter_reports(want: JsonObject, got: JsonObject) -> JsonObject:
    """Remove the errors in `STRICTER` from results for VMs that KubeVirt accepts."""
    if not want.get("allowed") or not got.get("causes"):
        return got
    causes = [cause for cause in got["causes"] if not _STRICTER.match(cause["message"])]
    return {**got, "causes": causes} if causes else {"allowed": True}


def _drop_invalid_memory(want: JsonObject, got: JsonObject) -> JsonObject:
    """Accept any refusal of a VM with 0 guest memory: we reject the memory first, KubeVirt rejects another field."""
    is_invalid = any(_NO_MEMORY.match(cause["message"]) for cause in got.get("causes") or ())
    return want if is_invalid and want.get("allowed") is False else got


def _drop_fields_of_unknown_spreads(want: JsonObject, got: JsonObject) -> JsonObject:
    """Remove the field of errors about an unknown `spreadOptions.across`: KubeVirt names none, we name the VM's CPU."""
    unnamed = {cause["message"] for cause in want.get("causes") or () if not cause["field"]}
    if not unnamed:
        return got
    causes = [{**cause, "field": ""} if cause["message"] in unnamed else cause for cause in got.get("causes") or ()]
    return {**got, "causes": causes}


def _drop_further_reports(want: JsonObject, got: JsonObject) -> JsonObject:
    """Remove all but the first failed requirement and memory conflict, because KubeVirt reports only the first."""
    if not want.get("causes") and not want.get("conflicts"):
        return got

    def keep(name: str, field: Callable[[Any], str]) -> list[Any]:
        left = Counter(field(report) for report in want.get(name) or ())
        kept = []
        for report in got.get(name) or ():
            if left[field(report)]:
                left[field(report)] -= 1
                kept.append(report)
        return kept

    return {**got, "causes": keep("causes", lambda cause: str(cause["field"])), "conflicts": keep("conflicts", str)}


def _sort_reports(result: JsonObject) -> JsonObject:
    """Sort conflicts and causes: KubeVirt reports conflicts of annotations in no particular order."""
    causes = sorted(result.get("causes") or (), key=lambda cause: str(cause["field"]))
    return {**result, "conflicts": sorted(result.get("conflicts") or ()), "causes": causes}


def _drop_zero_quantities(tree: Any) -> Any:
    """Remove quantities of 0: Go writes them for unset quantities."""
    if isinstance(tree, list):
        return [_drop_zero_quantities(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    unset = {key for key in ("capacity", "divisor") if tree.get(key) == "0"}
    return {key: _drop_zero_quantities(value) for key, value in tree.items() if key not in unset}


def _drop_later_warnings(result: JsonObject) -> JsonObject:
    """Remove the deprecation warning about an instance type's launchSecurity, which KubeVirt sends since 1.9."""
    warnings = [text for text in result.get("warnings") or () if not text.startswith("launchSecurity is deprecated")]
    return {**result, "warnings": warnings}


def _drop_versions(result: JsonObject) -> JsonObject:
    """Replace v1beta2 with v1beta1 in revisions, and remove the fields that KubeVirt 1.8 does not write."""
    if "revisions" not in result:
        return result
    (revision,) = json.loads(json.dumps(result["revisions"]).replace("v1beta2", "v1beta1"))
    for tree, key in ((revision["metadata"], "annotations"), (revision, "apiVersion"), (revision, "kind")):
        tree.pop(key, None)
    return {"revisions": [revision]}


def _drop_overridden(question: JsonObject, result: JsonObject) -> JsonObject:
    """Remove acpi and disableHotplug if the VM sets them: in KubeVirt, preferences override them."""
    domain = _find_spec(question).get("domain", {})
    for section, name in (("features", "acpi"), ("devices", "disableHotplug")):
        if name in (domain.get(section) or {}):
            (_find_spec(result).get("domain", {}).get(section) or {}).pop(name, None)
    return result


def _find_spec(tree: JsonObject) -> JsonObject:
    """Return the spec of the VMI in a question or a result."""
    if "vm" in tree:
        found: JsonObject = tree["vm"].get("spec", {}).get("template", {}).get("spec", {})
        return found
    return tree.get("vmiSpec") or {}
