"""Design the network interfaces of a guest."""

from typing import Final, Literal

from virtshape.api.kubevirt import network as api
from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.design.devices.networkbindings import Connection, connect
from virtshape.launcher.design.topology import lay_out_vcpus
from virtshape.launcher.domain.devices.address import parse_pci_address
from virtshape.launcher.domain.devices.interface import Forward, Interface

_MAX_QUEUES: Final = 256
_MAX_PORTS: Final = 256
"""Maximum number of listed ports per interface; QEMU opens a socket for each of them."""
_IGB_LIBVIRT, _IGB_QEMU = 9_003_000, 8_000_000
_DHCP_FIELDS: Final = {
    "boot_file_name": "bootFileName",
    "tftp_server_name": "tftpServerName",
    "ntp_servers": "ntpServers",
    "private_options": "privateOptions",
}


def design_interfaces(context: DesignContext) -> tuple[Interface, ...]:
    """Return all interfaces except those in state `absent` and SR-IOV interfaces, which are host devices."""
    designed = []
    for index, interface in enumerate(context.devices.interfaces or ()):
        at = f"{DEVICES}.interfaces[{index}]"
        if interface.state == "absent" or interface.sriov is not None:
            continue
        _refuse_dhcp_options(context, interface, at)
        _refuse_many_ports(context, interface, at)
        connection = connect(context, interface, at)
        if connection is not None:
            designed.append(_design_interface(context, interface, connection, at))
    _refuse_queues(context, designed)
    return tuple(designed)


def _design_interface(context: DesignContext, interface: api.Interface, connection: Connection, at: str) -> Interface:
    model = _choose_model(context, interface, at)
    virtio = model == context.virtio
    tap = connection.kind == "tap"
    several = virtio and context.devices.network_interface_multiqueue
    queues = min(lay_out_vcpus(context.spec.domain).vcpus, _MAX_QUEUES) if several else 1
    return Interface(
        name=interface.name,
        kind=connection.kind,
        device=connection.device,
        bridge=connection.bridge,
        subnets=connection.subnets,
        guest_address=connection.guest_address,
        restricted=_restrict(context, at) if not tap else False,
        forwards=() if tap else _list_forwards(interface),
        model=model,
        mac=interface.mac_address.replace("-", ":").lower() if interface.mac_address else None,
        vhost=tap and virtio and context.host.vhost_net,
        queues=queues if queues > 1 else None,
        iommu=virtio and context.iommu,
        boot_order=interface.boot_order,
        option_rom=context.architecture == "s390x" or (interface.boot_order is not None and not context.iommu),
        address=parse_pci_address(interface.pci_address) if interface.pci_address else None,
        acpi_index=interface.acpi_index or None,
        link_up=interface.state != "down",
    )


def _restrict(context: DesignContext, at: str) -> bool:
    """Return True and add a note if outgoing traffic must be blocked."""
    if context.host.isolation != "restricted":
        return False
    text = "outgoing traffic is blocked, because the guest cannot have a network namespace on this host"
    context.note(at, f"{text}: {context.host.isolation_reason}")
    return True


def _choose_model(context: DesignContext, interface: api.Interface, at: str) -> str:
    model = interface.model or "virtio"
    if model == "igb" and (context.host.libvirt < _IGB_LIBVIRT or context.host.qemu < _IGB_QEMU):
        context.refuse(f"{at}.model", "igb needs QEMU 8.0 and libvirt 9.3: use e1000e")
    return context.virtio if model == "virtio" else model


def _list_forwards(interface: api.Interface) -> tuple[Forward, ...]:
    single = [Forward(_read_protocol(port.protocol), port.port, port.port) for port in interface.ports or ()]
    ranges = [Forward(_read_protocol(each.protocol), each.start, each.end) for each in interface.port_ranges or ()]
    return (*single, *ranges)


def _read_protocol(protocol: str | None) -> Literal["tcp", "udp"]:
    return "udp" if (protocol or "").lower() == "udp" else "tcp"


def _refuse_dhcp_options(context: DesignContext, interface: api.Interface, at: str) -> None:
    for attribute, name in _DHCP_FIELDS.items():
        if interface.dhcp_options is not None and getattr(interface.dhcp_options, attribute):
            reason = "DHCP on this host provides only address, route and name server"
            context.refuse(f"{at}.dhcpOptions.{name}", reason)


def _refuse_many_ports(context: DesignContext, interface: api.Interface, at: str) -> None:
    if sum(len(forward.ports) for forward in _list_forwards(interface)) > _MAX_PORTS:
        reason = f"more than {_MAX_PORTS} ports are listed: list none to forward all ports"
        context.refuse(f"{at}.{'portRanges' if interface.port_ranges else 'ports'}", reason)


def _refuse_queues(context: DesignContext, interfaces: list[Interface]) -> None:
    for interface in interfaces:
        if interface.queues and interface.kind == "user":
            reason = f"the interface {interface.name!r} has user-mode networking, and multiqueue needs a tap device"
            context.refuse(f"{DEVICES}.networkInterfaceMultiqueue", reason)
            return
