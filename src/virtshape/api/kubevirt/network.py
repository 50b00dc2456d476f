"""
Structs for VM networks and for the interfaces that connect the guest to them.

A network defines the connection, and the interface of the same name defines how the guest sees it.
"""

from msgspec import field

from virtshape.api.model import Int32, Model, UInt32


class MultusNetwork(Model):
    """A secondary network, defined by a NetworkAttachmentDefinition and attached by Multus."""

    network_name: str
    """Name of the NetworkAttachmentDefinition, as `name` in the VM's namespace or as `namespace/name`."""
    default: bool | None = None
    """`true` makes this the VM's main network, replacing the pod network. Default: false."""


class PodNetwork(Model):
    """The pod network of the cluster."""

    vm_network_cidr: str | None = field(default=None, name="vmNetworkCIDR")
    """IPv4 range for guests with a masquerade interface. Default: `10.0.2.0/24`."""
    vm_ipv6_network_cidr: str | None = field(default=None, name="vmIPv6NetworkCIDR")
    """IPv6 range for guests with a masquerade interface. Default: `fd10:0:2::/120`."""


class ClaimRequest(Model):
    """A device that one of the VM's resource claims provides."""

    claim_name: str | None = None
    """Name of the VM's resource claim."""
    request_name: str | None = None
    """Name of the request in the resource claim."""


class Network(Model):
    """A network of the guest; exactly one of pod, multus and resourceClaim must be set."""

    name: str
    """Name by which an interface refers to this network; a DNS label, unique in the VM."""
    pod: PodNetwork | None = None
    """Connect to the pod network; at most one network of a VM can do so."""
    multus: MultusNetwork | None = None
    """Connect to a secondary network."""
    resource_claim: ClaimRequest | None = None
    """Connect through a network device allocated by a resource claim."""


class PluginBinding(Model):
    """A network binding plugin."""

    name: str
    """Name under which the cluster's configuration registers the binding."""


class InterfaceBridge(Model):
    """Connects the guest through a bridge, with the pod's own address (no settings)."""


class DHCPPrivateOptions(Model):
    """A private DHCP option."""

    option: Int32
    """Number of the option, 224 to 254."""
    value: str
    """Value of the option."""


class DHCPOptions(Model):
    """Additional DHCP options for the guest."""

    boot_file_name: str | None = None
    """File to boot from over the network (option 67)."""
    tftp_server_name: str | None = None
    """Server to fetch the boot file from (option 66)."""
    ntp_servers: list[str] | None = None
    """IPv4 addresses of time servers (option 42)."""
    private_options: list[DHCPPrivateOptions] | None = None
    """Private options, numbered 224 to 254; each number at most once."""


class DeprecatedInterfaceMacvtap(Model):
    """A binding that no longer exists, kept so that old manifests can be read (no settings)."""


class InterfaceMasquerade(Model):
    """Connects the guest through NAT, with the pod's address as its external address (no settings)."""


class DeprecatedInterfacePasst(Model):
    """A binding that no longer exists, kept so that old manifests can be read (no settings)."""


class InterfacePasstBinding(Model):
    """Connects the guest through passt, a user-space network relay (no settings)."""


class PortRange(Model):
    """A range of ports that is forwarded to the guest."""

    start: Int32
    """First port, 1 to 65535."""
    end: Int32
    """Last port, 1 to 65535 and not below `start`."""
    protocol: str
    """Protocol of the ports: `TCP` or `UDP`."""


class Port(Model):
    """A port that is forwarded to the guest."""

    port: Int32
    """Port number, 1 to 65535."""
    name: str | None = None
    """Name for services to refer to, unique in the VM, such as `http`."""
    protocol: str | None = None
    """Protocol of the port: `TCP` or `UDP`. Default: `TCP`."""


class DeprecatedInterfaceSlirp(Model):
    """A binding that no longer exists, kept so that old manifests can be read (no settings)."""


class InterfaceSRIOV(Model):
    """Passes a virtual function of an SR-IOV network card through to the guest (no settings)."""


class Interface(Model):
    """A network interface of the guest, with exactly one binding, such as bridge, masquerade or sriov."""

    name: str
    """Name of the network that the interface connects to; each network has one interface."""
    masquerade: InterfaceMasquerade | None = None
    """`{}` connects by NAT; only for the pod network, and the usual choice there."""
    bridge: InterfaceBridge | None = None
    """`{}` connects by a bridge; the usual choice for secondary networks."""
    sriov: InterfaceSRIOV | None = None
    """`{}` passes a virtual function of a network card through to the guest; needs a network that provides one."""
    passt_binding: InterfacePasstBinding | None = None
    """`{}` connects through passt; the guest keeps the pod's address and needs no NAT."""
    binding: PluginBinding | None = None
    """A binding plugin that is registered in the cluster's configuration."""
    macvtap: DeprecatedInterfaceMacvtap | None = None
    """No longer supported; use `binding` with a macvtap plugin."""
    passt: DeprecatedInterfacePasst | None = None
    """No longer supported; use `passtBinding`."""
    slirp: DeprecatedInterfaceSlirp | None = None
    """No longer supported; use `masquerade` or `passtBinding`."""
    model: str | None = None
    """Emulated card: `virtio` (default), `e1000`, `e1000e`, `igb`, `rtl8139`, `pcnet` or `ne2k_pci`."""
    mac_address: str | None = None
    """MAC address such as `02:00:5e:10:00:01`; generated when absent."""
    state: str | None = None
    """Link state: `up` (default), `down` to unplug the cable, or `absent` to remove the interface from a running VM."""
    ports: list[Port] | None = None
    """Forwarded ports; all ports when absent. Mutually exclusive with `portRanges`."""
    port_ranges: list[PortRange] | None = None
    """Forwarded port ranges, on masquerade interfaces only. Mutually exclusive with `ports`."""
    dhcp_options: DHCPOptions | None = None
    """Additional DHCP options, for bridge and masquerade interfaces."""
    boot_order: UInt32 | None = None
    """Boot order, from 1, unique among interfaces and disks. No network boot when absent."""
    pci_address: str | None = None
    """Fixed PCI address in the guest, such as `0000:81:01.1`."""
    acpi_index: Int32 | None = None
    """Number from 1 to 16383 that gives the interface a stable name in the guest; unique in the VM."""
    tag: str | None = None
    """Tag of this interface in the config drive's metadata."""
