"""Validate the KubeVirt object: reject invalid values, and warn about deprecated, unsupported and unknown settings."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from msgspec import inspect

from virtshape.admission.checkresult import DEPRECATED, NO_EFFECT
from virtshape.admission.rules.checks import NOT_SUPPORTED, check_value
from virtshape.admission.rules.featuregates import find_feature_gate_warning
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import DeveloperConfiguration, KubeVirtConfiguration
from virtshape.api.kubevirt.hostdevices import (
    MediatedHostDevice,
    PciHostDevice,
    PermittedHostDevices,
    USBHostDevice,
)
from virtshape.api.kubevirt.kubevirt import KubeVirtSpec
from virtshape.api.kubevirt.noeffect import has_effect, is_cluster_only
from virtshape.api.model import JsonObject
from virtshape.api.spelling import suggest

AT: Final = "spec.configuration"
CHOICES: Final = (
    ("evictionStrategy", ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")),
    ("vmRolloutStrategy", ("LiveUpdate", "Stage")),
    ("instancetype.referencePolicy", ("reference", "expand", "expandAll")),
    ("network.defaultNetworkInterface", ("bridge", "masquerade")),
    ("architectureConfiguration.defaultArchitecture", ("amd64", "arm64", "s390x")),
)
_DEPRECATED: Final = {
    "machineType": "use architectureConfiguration, where each architecture has its machineType",
    "emulatedMachines": "use architectureConfiguration, where each architecture has its emulatedMachines",
    "network.permitSlirpInterface": "slirp is no longer supported",
    "architectureConfiguration.ppc64le": "ppc64le is no longer supported",
}


def check_settings(configuration: KubeVirtConfiguration, tree: JsonObject) -> Iterator[FieldError]:
    """Yield all violations of a configuration; `tree` is the JSON object that it was decoded from."""
    for name, allowed in CHOICES:
        yield from check_value(AT, name, _find(tree, name), allowed)
    if configuration.developer_configuration is not None:
        yield from _check_gates(configuration.developer_configuration, f"{AT}.developerConfiguration")
    if configuration.additional_guest_memory_overhead_ratio is not None:
        yield from _check_ratio(configuration.additional_guest_memory_overhead_ratio)
    if configuration.permitted_host_devices is not None:
        yield from _check_providers(configuration.permitted_host_devices, f"{AT}.permittedHostDevices")
    tls = configuration.tls_configuration
    if tls is not None and tls.ciphers and tls.min_tls_version in (None, "", "VersionTLS13"):
        at = f"{AT}.tlsConfiguration"
        message = f"You cannot specify ciphers when {at}.minTLSVersion is empty or VersionTLS13"
        yield FieldError(f"{at}.ciphers", message, NOT_SUPPORTED, rule="impossible-combination")
    for path, advice in _DEPRECATED.items():
        if _find(tree, path) is not None:
            yield FieldError(f"{AT}.{path}", f"{AT}.{path} is deprecated, {advice}", rule=DEPRECATED)


def check_effects(tree: JsonObject, *, is_standalone: bool = False) -> Iterator[FieldError]:
    """
    Yield a warning for each setting without effect; `tree` is the spec of the KubeVirt object.

    Settings that only affect guests in pods are included if `is_standalone` is True.
    """
    for path, message in _list_ineffective(tree, _get_shape(), "spec", is_standalone=is_standalone):
        if path.removeprefix(f"{AT}.") not in _DEPRECATED:
            yield FieldError(path, message, rule=NO_EFFECT)


@cache
def _get_shape() -> inspect.Type:
    return inspect.type_info(KubeVirtSpec)


def _find(tree: JsonObject, path: str) -> Any:
    value: Any = tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _check_gates(developer: DeveloperConfiguration, at: str) -> Iterator[FieldError]:
    enabled, disabled = developer.feature_gates or [], developer.disabled_feature_gates or []
    for index, name in enumerate(disabled):
        if name in enabled:
            message = f"feature gate {name} is also in featureGates: remove it from one of the lists"
            yield FieldError(f"{at}.disabledFeatureGates[{index}]", message, rule="impossible-combination")
    for name in dict.fromkeys([*enabled, *disabled]):
        reason = find_feature_gate_warning(name)
        if reason is not None:
            yield FieldError(f"{at}.featureGates", reason, rule=DEPRECATED)


def _check_ratio(text: str) -> Iterator[FieldError]:
    field = f"{AT}.additionalGuestMemoryOverheadRatio"
    try:
        ratio = float(text)
    except ValueError:
        yield FieldError(
            field, f"ratio provided, {text}, cannot be parsed into float", NOT_SUPPORTED, rule="invalid-value"
        )
        return
    if not ratio >= 1:
        yield FieldError(
            field, f"ratio provided, {text}, cannot be smaller than 1.0", NOT_SUPPORTED, rule="invalid-value"
        )


def _check_providers(permitted: PermittedHostDevices, at: str) -> Iterator[FieldError]:
    """Warn about devices that KubeVirt, unlike virtshape, would discover by their selector."""
    kinds: dict[str, Sequence[PciHostDevice | MediatedHostDevice | USBHostDevice] | None] = {
        "pciHostDevices": permitted.pci_host_devices,
        "mediatedDevices": permitted.mediated_devices,
        "usb": permitted.usb,
    }
    for name, devices in kinds.items():
        for index, device in enumerate(devices or ()):
            if not device.external_resource_provider:
                field = f"{at}.{name}[{index}].externalResourceProvider"
                advice = f"a device plugin must provide {device.resource_name}"
                message = f"{field} should be true: {advice}, because virtshape does not discover devices"
                yield FieldError(field, message, rule=NO_EFFECT)


def _list_ineffective(value: Any, shape: inspect.Type, at: str, *, is_standalone: bool) -> Iterator[tuple[str, str]]:
    """Yield the path of each setting that is unsupported, unknown or only for clusters, and a warning for it."""
    match shape, value:
        case inspect.UnionType(types=types), _:
            for each in types:
                yield from _list_ineffective(value, each, at, is_standalone=is_standalone)
        case inspect.ListType(item_type=inner), list():
            for index, item in enumerate(value):
                yield from _list_ineffective(item, inner, f"{at}[{index}]", is_standalone=is_standalone)
        case inspect.DictType(value_type=inner), dict():
            for key, item in value.items():
                yield from _list_ineffective(item, inner, f"{at}.{key}", is_standalone=is_standalone)
        case inspect.StructType(fields=fields, cls=struct), dict():
            known = {field.encode_name: field.type for field in fields}
            for name, item in value.items():
                path = f"{at}.{name}"
                if name not in known:
                    similar = suggest(name, [each for each in known if each not in value])
                    yield path, f'unknown setting "{path}" is stored but has no effect{similar}'
                elif has_effect(struct, name):
                    if is_standalone and item is not None and is_cluster_only(struct, name):
                        yield path, f"{path}: only affects guests in pods on a cluster; it has no effect on this server"
                    yield from _list_ineffective(item, known[name], path, is_standalone=is_standalone)
                elif item is not None:
                    yield path, f"{path}: not supported by virtshape; it has no effect"
