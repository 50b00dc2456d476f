"""
What is wrong with a VM by itself: how it runs, and whether its disks, volumes, interfaces and networks belong together.

Pure: looks at one VM and at nothing that it names.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from msgspec.structs import fields

from virtshape.api.diagnosis import quote, suggest
from virtshape.api.kubevirt.devices import Devices, Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineSpec
from virtshape.api.kubevirt.network import Interface, Network
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.model import Model
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.offline.lint.finding import Remark

RUN_STRATEGIES: Final = ("Always", "Halted", "Manual", "RerunOnFailure", "Once", "WaitAsReceiver")

_DEVICES: Final = f"{TEMPLATE_ROOT}.domain.devices"
_VALUES: Final = {
    "bus": ("virtio", "sata", "scsi", "usb"),
    "cache": ("none", "writethrough", "writeback"),
    "io": ("native", "threads", "default"),
    "evictionStrategy": ("None", "LiveMigrate", "LiveMigrateIfPossible", "External"),
    "ioThreadsPolicy": ("shared", "auto", "supplementalPool"),
    "updateVolumesStrategy": ("Replacement", "Migration"),
}
_GONE_BINDINGS: Final = {
    "slirp": "masquerade or passtBinding",
    "macvtap": "binding with a macvtap plugin",
    "passt": "passtBinding",
}


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Members(NamedTuple):
    """Members of a struct of which one says what it is: attributes, and what they are called on the wire."""

    attributes: tuple[str, ...]
    names: tuple[str, ...]


def _members(struct: type[Model], *wanted: str) -> _Members:
    found = [each for each in fields(struct) if each.name in wanted or (not wanted and each.name != "name")]
    return _Members(tuple(each.name for each in found), tuple(each.encode_name for each in found))


_VOLUME_SOURCES: Final = _members(Volume)
_NETWORK_SOURCES: Final = _members(Network)
_DISK_TARGETS: Final = _members(Disk, "disk", "cdrom", "lun")
_BINDINGS: Final = _members(
    Interface, "masquerade", "bridge", "sriov", "passt_binding", "binding", "macvtap", "passt", "slirp"
)


def check_machine(vm: VirtualMachine) -> Iterator[Remark]:
    """Everything that is wrong with the VM, whatever it names."""
    yield from _check_running(vm.spec)
    yield from _check_value("spec", "updateVolumesStrategy", vm.spec.update_volumes_strategy)
    template = vm.spec.template.spec
    if template is None:
        yield Remark("missing-field", TEMPLATE_ROOT, 'missing required field "spec": the template describes no guest')
    else:
        yield from check_instance(template)


def check_instance(spec: VirtualMachineInstanceSpec) -> Iterator[Remark]:
    """Everything that is wrong with what a VM starts."""
    domain = spec.domain
    yield from _check_value(TEMPLATE_ROOT, "evictionStrategy", spec.eviction_strategy)
    yield from _check_value(f"{TEMPLATE_ROOT}.domain", "ioThreadsPolicy", domain.io_threads_policy)
    if spec.volumes or domain.devices.disks or domain.devices.filesystems:
        yield from _check_disks(spec.volumes or (), domain.devices)
    if spec.networks or domain.devices.interfaces:
        yield from _check_networks(spec.networks or (), domain.devices.interfaces or ())


def _check_running(spec: VirtualMachineSpec) -> Iterator[Remark]:
    strategy = spec.run_strategy
    if spec.running is not None:
        if strategy is not None:
            message = "Running and RunStrategy are mutually exclusive: remove spec.running"
            yield Remark("run-strategy", "spec.running", message)
        instead = "Always" if spec.running else "Halted"
        message = f"spec.running is deprecated: use spec.runStrategy: {strategy or instead}"
        yield Remark("deprecated-field", "spec.running", message)
    elif strategy is None:
        message = "one of Running or RunStrategy must be specified: set spec.runStrategy, for example to Always"
        yield Remark("run-strategy", "spec.runStrategy", message)
    if strategy is not None and strategy not in RUN_STRATEGIES:
        yield _unsupported("spec.runStrategy", strategy, RUN_STRATEGIES)


def _check_disks(volumes: Iterable[Volume], devices: Devices) -> Iterator[Remark]:
    disks, filesystems = devices.disks or (), devices.filesystems or ()
    at_volumes, at_disks = f"{TEMPLATE_ROOT}.volumes", f"{_DEVICES}.disks"
    known = yield from _check_names("volume", volumes, at_volumes)
    for index, volume in enumerate(volumes):
        yield from _check_one_of("volume", volume, _VOLUME_SOURCES, f"{at_volumes}[{index}]", least=1)
    yield from _check_names("disk", disks, at_disks)
    yield from _check_partners("disk", disks, at_disks, "volume", known)
    for index, disk in enumerate(disks):
        yield from _check_disk(disk, f"{at_disks}[{index}]")
    at_filesystems = f"{_DEVICES}.filesystems"
    yield from _check_names("filesystem", filesystems, at_filesystems)
    yield from _check_partners("filesystem", filesystems, at_filesystems, "volume", known)


def _check_disk(disk: Disk, at: str) -> Iterator[Remark]:
    yield from _check_one_of("disk", disk, _DISK_TARGETS, at, least=0)
    yield from _check_value(at, "cache", disk.cache)
    yield from _check_value(at, "io", disk.io)
    for name, target in (("disk", disk.disk), ("cdrom", disk.cdrom), ("lun", disk.lun)):
        if target is not None:
            yield from _check_value(f"{at}.{name}", "bus", target.bus)


def _check_networks(networks: Iterable[Network], interfaces: Iterable[Interface]) -> Iterator[Remark]:
    at_networks, at_interfaces = f"{TEMPLATE_ROOT}.networks", f"{_DEVICES}.interfaces"
    named = yield from _check_names("network", networks, at_networks)
    connected = yield from _check_names("interface", interfaces, at_interfaces)
    yield from _check_partners("interface", interfaces, at_interfaces, "network", named)
    yield from _check_partners("network", networks, at_networks, "interface", connected)
    for index, network in enumerate(networks):
        yield from _check_one_of("network", network, _NETWORK_SOURCES, f"{at_networks}[{index}]", least=1)
    for index, interface in enumerate(interfaces):
        at = f"{at_interfaces}[{index}]"
        yield from _check_one_of("interface", interface, _BINDINGS, at, least=0)
        for binding, instead in _GONE_BINDINGS.items():
            if getattr(interface, binding) is not None:
                message = f"the binding {binding} is deprecated and no longer works: use {instead}"
                yield Remark("deprecated-field", f"{at}.{binding}", message)


def _check_names(what: str, items: Iterable[_Named], at: str) -> Generator[Remark, None, set[str]]:
    """Remark on each name that was there before; returns all names."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.name in seen:
            message = f"two {what}s are named {quote(item.name)}: rename or remove one"
            yield Remark("duplicate-name", f"{at}[{index}].name", message)
        seen.add(item.name)
    return seen


def _check_partners(what: str, items: Iterable[_Named], at: str, partner: str, known: set[str]) -> Iterator[Remark]:
    for index, item in enumerate(items):
        if item.name not in known:
            hint = suggest(item.name, known) or f": add one, or remove the {what}"
            message = f"the {what} {quote(item.name)} has no {partner} of that name{hint}"
            yield Remark(f"missing-{partner}", f"{at}[{index}].name", message)


def _check_one_of(what: str, item: _Named, members: _Members, at: str, *, least: int) -> Iterator[Remark]:
    present = [name for attribute, name in zip(*members, strict=True) if getattr(item, attribute) is not None]
    if len(present) > 1:
        message = f"the {what} {quote(item.name)} has {' and '.join(present)}: keep one of them"
        yield Remark("one-of", f"{at}.{present[1]}", message)
    elif len(present) < least:
        such_as = f"{', '.join(members.names[:2])} or {members.names[2]}"
        message = f"the {what} {quote(item.name)} does not say where it comes from: add a source such as {such_as}"
        yield Remark("one-of", at, message)


def _check_value(at: str, name: str, value: str | None) -> Iterator[Remark]:
    if value and value not in _VALUES[name]:
        yield _unsupported(f"{at}.{name}", value, _VALUES[name])


def _unsupported(field: str, value: str, allowed: tuple[str, ...]) -> Remark:
    words = f"{quote(value)} is not supported{suggest(value, allowed)}"
    words = words if words.endswith("?") else f"{words}: use one of {', '.join(allowed)}"
    return Remark("unsupported-value", field, words)
