"""
Defaults that VMI admission sets and `expand` does not, such as CPU model, disk buses and memory request.

These defaults are applied last. The spec may share features and timers with a preference, so this module replaces them
instead of modifying them. The caller chooses the firmware UUID.
"""

from typing import Any, Final, TypeVar

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.devices import Devices, DiskTarget
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Firmware
from virtshape.api.kubevirt.features import FeatureHyperv, Features, FeatureSpinlocks, FeatureState, Timer
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.engine.memory import find_amount, put_request

T = TypeVar("T", bound=Model)

_CPU_MODELS: Final = {"arm64": "host-passthrough"}
_DISK_BUSES: Final = {"amd64": "sata"}
_SPINLOCK_ATTEMPTS: Final = 4096
HYPERV_NEEDS: Final = {
    "evmcs": ("vapic",),
    "ipi": ("vpindex",),
    "reset": ("synic", "vpindex"),
    "synic": ("vpindex",),
    "synictimer": ("synic", "vpindex"),
    "tlbflush": ("vpindex",),
}
"""The Hyper-V features that each Hyper-V feature depends on."""


def apply_instance_defaults(
    spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None, *, firmware_uuid: str
) -> None:
    """Fill in the fields that a VMI needs to run, in a spec that already has the defaults of `apply_defaults`."""
    domain = spec.domain
    architecture = spec.architecture or DEFAULT_ARCHITECTURE
    cpu = domain.cpu = domain.cpu or CPU()
    configured = configuration.cpu_model if configuration else None
    cpu.model = cpu.model or configured or _CPU_MODELS.get(architecture, "host-model")
    _default_buses(domain.devices, _DISK_BUSES.get(architecture, "virtio"))
    features = domain.features = domain.features or Features()
    _default_features(features)
    if domain.clock is not None and domain.clock.timer is not None:
        domain.clock.timer = _with_timers_present(domain.clock.timer)
    firmware = domain.firmware = domain.firmware or Firmware()
    firmware.uuid = firmware.uuid or firmware_uuid
    _default_memory_request(domain, configuration)
    _default_console_log(domain.devices, configuration)


def _default_buses(devices: Devices, bus: str) -> None:
    for disk in devices.disks or ():
        if disk.disk is None and disk.cdrom is None and disk.lun is None:
            disk.disk = DiskTarget()
        for target in (disk.disk, disk.cdrom, disk.lun):
            if target is not None:
                target.bus = target.bus or bus


def _default_console_log(devices: Devices, configuration: KubeVirtConfiguration | None) -> None:
    options = configuration.virtual_machine_options if configuration else None
    is_disabled = options is not None and options.disable_serial_console_log is not None
    if is_disabled and devices.log_serial_console is None:
        devices.log_serial_console = False


def _default_features(features: Features) -> None:
    """Enable ACPI and each feature in the spec, unless `enabled` is false."""
    features.acpi = _switched_on(features.acpi or FeatureState())
    features.apic = features.apic and _switched_on(features.apic)
    features.pvspinlock = features.pvspinlock and _switched_on(features.pvspinlock)
    features.smm = features.smm and _switched_on(features.smm)
    if features.hyperv is not None:
        features.hyperv = _complete_hyperv(features.hyperv)


def _complete_hyperv(hyperv: FeatureHyperv) -> FeatureHyperv:
    """Return the Hyper-V features and the features that they need, all enabled unless they are disabled explicitly."""
    states = {name: getattr(hyperv, name) for name in hyperv.__struct_fields__}
    states = {name: _switched_on(state) for name, state in states.items() if state is not None}
    for name, needs in HYPERV_NEEDS.items():
        if name in states and states[name].enabled:
            for need in needs:
                states.setdefault(need, FeatureState(enabled=True))
    spinlocks: FeatureSpinlocks | None = states.get("spinlocks")
    if spinlocks is not None and spinlocks.enabled and spinlocks.spinlocks is None:
        states["spinlocks"] = replace(spinlocks, spinlocks=_SPINLOCK_ATTEMPTS)
    return FeatureHyperv(**states)


def _switched_on(state: T) -> T:
    """Return a copy of the feature in which every unset `enabled` is true, in nested features too."""
    switches: dict[str, Any] = {}
    for name in state.__struct_fields__:
        value = getattr(state, name)
        if name == "enabled" and value is None:
            switches[name] = True
        elif isinstance(value, FeatureState):
            switches[name] = _switched_on(value)
    return replace(state, **switches)


def _with_timers_present(timer: Timer) -> Timer:
    """Return a copy of the timers in which every unset `present` is true."""
    named = {name: getattr(timer, name) for name in timer.__struct_fields__}
    return replace(
        timer,
        **{name: replace(one, present=True) for name, one in named.items() if one is not None and one.present is None},
    )


def _default_memory_request(domain: DomainSpec, configuration: KubeVirtConfiguration | None) -> None:
    """Set a missing memory request to the limit, or else to the guest's memory reduced by the overcommit."""
    resources, guest = domain.resources, domain.memory.guest if domain.memory else None
    if resources is not None and resources.requests and "memory" in resources.requests:
        return
    limit = find_amount(resources.limits, "memory") if resources else None
    if limit is not None:
        put_request(domain, "memory", limit)
    elif guest is not None:
        developer = configuration.developer_configuration if configuration else None
        percent = (developer.memory_overcommit if developer else None) or 100
        shared = percent != 100 and (domain.memory is None or domain.memory.hugepages is None)
        put_request(domain, "memory", Quantity.of(guest.value() * 100 // percent, guest.format) if shared else guest)
