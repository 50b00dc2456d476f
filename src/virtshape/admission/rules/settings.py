"""Validate the KubeVirt configuration: supported values; warnings for deprecated and unknown settings."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from msgspec import inspect

from virtshape.admission.rules.checks import NOT_SUPPORTED, check_value
from virtshape.admission.rules.featuregates import describe_feature_gate
from virtshape.admission.violation import DEPRECATED
from virtshape.api.diagnosis import suggest
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import DeveloperConfiguration, KubeVirtConfiguration
from virtshape.api.model import JsonObject

AT: Final = "spec.configuration"
_MEDIATED: Final = "mediatedDevicesConfiguration"
_CHOICES: Final = (
    ("evictionStrategy", ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")),
    ("vmRolloutStrategy", ("LiveUpdate", "Stage")),
    ("instancetype.referencePolicy", ("reference", "expand", "expandAll")),
    ("network.defaultNetworkInterface", ("bridge", "masquerade")),
    ("architectureConfiguration.defaultArchitecture", ("amd64", "arm64", "s390x")),
)
_GONE: Final = {
    "machineType": "use architectureConfiguration, where each architecture has its machineType",
    "emulatedMachines": "use architectureConfiguration, where each architecture has its emulatedMachines",
    "ovmfPath": "use architectureConfiguration, where each architecture has its ovmfPath",
    "minCPUModel": "it has no effect",
    "supportedGuestAgentVersions": "it has no effect",
    "network.permitSlirpInterface": "slirp is no longer supported",
    "architectureConfiguration.ppc64le": "ppc64le is no longer supported",
    f"{_MEDIATED}.mediatedDevicesTypes": "use mediatedDeviceTypes",
}


def check_settings(configuration: KubeVirtConfiguration, tree: JsonObject) -> Iterator[FieldError]:
    """Yield all violations of a configuration; `tree` is the JSON it was decoded from."""
    for name, allowed in _CHOICES:
        yield from check_value(AT, name, _find(tree, name), allowed)
    if configuration.developer_configuration is not None:
        yield from _check_gates(configuration.developer_configuration, f"{AT}.developerConfiguration")
    if configuration.additional_guest_memory_overhead_ratio is not None:
        yield from _check_ratio(configuration.additional_guest_memory_overhead_ratio)
    tls = configuration.tls_configuration
    if tls is not None and tls.ciphers and tls.min_tls_version in (None, "", "VersionTLS13"):
        at = f"{AT}.tlsConfiguration"
        message = f"You cannot specify ciphers when {at}.minTLSVersion is empty or VersionTLS13"
        yield FieldError(f"{at}.ciphers", message, NOT_SUPPORTED, rule="impossible-combination")
    yield from _check_deprecated(tree)
    for at, name, known in _list_unknown(tree, _find_shape(), AT):
        message = f'unknown setting "{at}.{name}" is stored but has no effect{suggest(name, known)}'
        yield FieldError(f"{at}.{name}", message, rule=DEPRECATED)


@cache
def _find_shape() -> inspect.Type:
    return inspect.type_info(KubeVirtConfiguration)


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
        reason = describe_feature_gate(name)
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


def _check_deprecated(tree: JsonObject) -> Iterator[FieldError]:
    for path, advice in _GONE.items():
        if _find(tree, path) is not None:
            yield FieldError(f"{AT}.{path}", f"{AT}.{path} is deprecated, {advice}", rule=DEPRECATED)
    for index, node in enumerate(_find(tree, f"{_MEDIATED}.nodeMediatedDeviceTypes") or ()):
        if isinstance(node, dict) and node.get("mediatedDevicesTypes") is not None:
            field = f"{AT}.{_MEDIATED}.nodeMediatedDeviceTypes[{index}].mediatedDevicesTypes"
            yield FieldError(field, f"{field} is deprecated, use mediatedDeviceTypes", rule=DEPRECATED)


class _Unknown(NamedTuple):
    """An unknown setting: its path, its name, and the known names at that path."""

    at: str
    name: str
    known: list[str]


def _list_unknown(value: Any, shape: inspect.Type, at: str) -> Iterator[_Unknown]:
    match shape, value:
        case inspect.UnionType(types=types), _:
            for each in types:
                yield from _list_unknown(value, each, at)
        case inspect.ListType(item_type=inner), list():
            for index, item in enumerate(value):
                yield from _list_unknown(item, inner, f"{at}[{index}]")
        case inspect.DictType(value_type=inner), dict():
            for key, item in value.items():
                yield from _list_unknown(item, inner, f"{at}.{key}")
        case inspect.StructType(fields=fields), dict():
            known = {field.encode_name: field.type for field in fields}
            for name, item in value.items():
                if name in known:
                    yield from _list_unknown(item, known[name], f"{at}.{name}")
                else:
                    yield _Unknown(at, name, [each for each in known if each not in value])
