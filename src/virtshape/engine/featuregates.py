"""Feature gates of the KubeVirt configuration: which are enabled, and the error for a field that requires one."""

from collections.abc import Iterator
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration

HOST_ACCESS_RULE: Final = "host-access"
"""Name of the lint rule for host resources that the configuration does not permit."""
_GATES_FIELD: Final = "spec.configuration.developerConfiguration.featureGates"


def is_gate_enabled(name: str, configuration: KubeVirtConfiguration | None) -> bool:
    """Return True if the configuration lists a feature gate as enabled and not as disabled."""
    developer = configuration.developer_configuration if configuration is not None else None
    if developer is None or name not in (developer.feature_gates or ()):
        return False
    return name not in (developer.disabled_feature_gates or ())


def check_gate(
    gate: str, field: str, configuration: KubeVirtConfiguration | None, prefix: str = ""
) -> Iterator[FieldError]:
    """Yield an error for a field that requires a disabled feature gate; the message starts with `prefix`."""
    if not is_gate_enabled(gate, configuration):
        yield FieldError(field, f"{prefix}{describe_disabled_gate(gate)}", rule=HOST_ACCESS_RULE)


def describe_disabled_gate(name: str) -> str:
    """Return KubeVirt's message for a feature gate that is not enabled, with advice on how to enable it."""
    called = {"HostDevices": "Host Devices"}.get(name, name)
    return f"{called} feature gate is not enabled: an administrator must add {name} to {_GATES_FIELD}"
