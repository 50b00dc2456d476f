from msgspec import field

from virtshape.api.model import Int32, Model, UInt32


class MultusNetwork(Model):
    network_name: str
    default: bool | None = None


class PodNetwork(Model):
    vm_ipv6_network_cidr: str | None = field(default=None, name="vmIPv6NetworkCIDR")
    vm_network_cidr: str | None = field(default=None, name="vmNetworkCIDR")


class ClaimRequest(Model):
    claim_name: str | None = None
    request_name: str | None = None


class Network(Model):
    name: str
    multus: MultusNetwork | None = None
    pod: PodNetwork | None = None
    resource_claim: ClaimRequest | None = None


class PluginBinding(Model):
    name: str


class InterfaceBridge(Model):
    pass


class DHCPPrivateOptions(Model):
    option: Int32
    value: str


class DHCPOptions(Model):
    boot_file_name: str | None = None
    ntp_servers: list[str] | None = None
    private_options: list[DHCPPrivateOptions] | None = None
    tftp_server_name: str | None = None


class DeprecatedInterfaceMacvtap(Model):
    pass


class InterfaceMasquerade(Model):
    pass


class DeprecatedInterfacePasst(Model):
    pass


class InterfacePasstBinding(Model):
    pass


class PortRange(Model):
    end: Int32
    protocol: str
    start: Int32


class Port(Model):
    port: Int32
    name: str | None = None
    protocol: str | None = None


class DeprecatedInterfaceSlirp(Model):
    pass


class InterfaceSRIOV(Model):
    pass


class Interface(Model):
    name: str
    acpi_index: Int32 | None = None
    binding: PluginBinding | None = None
    boot_order: UInt32 | None = None
    bridge: InterfaceBridge | None = None
    dhcp_options: DHCPOptions | None = None
    mac_address: str | None = None
    macvtap: DeprecatedInterfaceMacvtap | None = None
    masquerade: InterfaceMasquerade | None = None
    model: str | None = None
    passt: DeprecatedInterfacePasst | None = None
    passt_binding: InterfacePasstBinding | None = None
    pci_address: str | None = None
    port_ranges: list[PortRange] | None = None
    ports: list[Port] | None = None
    slirp: DeprecatedInterfaceSlirp | None = None
    sriov: InterfaceSRIOV | None = None
    state: str | None = None
    tag: str | None = None
