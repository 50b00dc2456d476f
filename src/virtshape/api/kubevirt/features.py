"""
Structs for the guest's clock, timers and hypervisor features.

An empty block (`acpi: {}`) enables a feature. If the block is absent, the preference or else the machine type decides.
"""

from virtshape.api.model import Int32, Model, UInt32


class HPETTimer(Model):
    """The High Precision Event Timer of an x86 guest."""

    present: bool | None = None
    """Whether the guest has this timer; `false` removes it even if the machine type has one. Default: true."""
    tick_policy: str | None = None
    """How delayed ticks are delivered: `delay`, `catchup`, `merge` or `discard`."""


class HypervTimer(Model):
    """The Hyper-V reference clock, which Windows guests read without leaving the guest."""

    present: bool | None = None
    """Whether the guest has this clock; `false` removes it. Default: true."""


class KVMTimer(Model):
    """The kvm-clock, which Linux guests read without leaving the guest."""

    present: bool | None = None
    """Whether the guest has this clock; `false` removes it. Default: true."""


class PITTimer(Model):
    """The Programmable Interval Timer of the original PC."""

    present: bool | None = None
    """Whether the guest has this timer; `false` removes it. Default: true."""
    tick_policy: str | None = None
    """How delayed ticks are delivered: `delay`, `catchup` or `discard`."""


class RTCTimer(Model):
    """The battery-backed real-time clock and its periodic interrupt."""

    present: bool | None = None
    """Whether the guest has this timer; `false` removes it. Default: true."""
    tick_policy: str | None = None
    """How delayed ticks are delivered: `delay` or `catchup`; Windows guests usually need `catchup`."""
    track: str | None = None
    """The time that the clock follows: `guest` time, which stops while the VM is paused, or `wall` time of the host."""


class Timer(Model):
    """The timers of a guest; the machine type decides whether the guest has a timer that is absent here."""

    hpet: HPETTimer | None = None
    """High Precision Event Timer; often disabled for Windows guests, where it costs CPU time."""
    hyperv: HypervTimer | None = None
    """Paravirtual clock for Windows guests."""
    kvm: KVMTimer | None = None
    """Paravirtual clock for Linux guests."""
    pit: PITTimer | None = None
    """Programmable Interval Timer, used by old kernels and early in the boot."""
    rtc: RTCTimer | None = None
    """Real-time clock with a periodic interrupt."""


class ClockOffsetUTC(Model):
    """A guest clock in UTC, optionally with an offset."""

    offset_seconds: Int32 | None = None
    """Seconds to add to UTC; may be negative. If set, time changes made inside the guest survive its reboots."""


class Clock(Model):
    """The guest's hardware clock and timers."""

    utc: ClockOffsetUTC | None = None
    """The hardware clock runs in UTC, as Linux expects. Cannot be combined with `timezone`."""
    timezone: str | None = None
    """The hardware clock runs in this time zone, for example `Europe/Rome`. Cannot be combined with `utc`."""
    timer: Timer | None = None
    """Timers of the guest; a preference sets them only if this block is absent."""


class FeatureState(Model):
    """A feature, which is enabled when this block is present, unless `enabled` is false."""

    enabled: bool | None = None
    """`true` turns the feature on, `false` off. Default: true."""


class FeatureAPIC(Model):
    """The interrupt controller of an x86 guest."""

    enabled: bool | None = None
    """`true` adds an APIC, `false` removes it. Default: true."""
    end_of_interrupt: bool | None = None
    """Whether the guest can acknowledge interrupts without a VM exit, which is faster. Default: false."""


class FeatureSpinlocks(Model):
    """Hyper-V spinlock hints: a Windows guest notifies the host when it waits too long for a lock."""

    enabled: bool | None = None
    """`true` turns the hints on, `false` off. Default: true."""
    spinlocks: UInt32 | None = None
    """Attempts to take a lock before the host is notified; at least 4096, which is also the default."""


class SyNICTimer(Model):
    """Hyper-V synthetic timers; needs `synic`."""

    enabled: bool | None = None
    """`true` turns the timers on, `false` off. Default: true."""
    direct: FeatureState | None = None
    """Signal expirations with interrupts instead of messages, which is cheaper for the guest."""


class TLBFlush(Model):
    """Hyper-V TLB flushes, done by the host for all vCPUs at once."""

    enabled: bool | None = None
    """`true` turns the feature on, `false` off. Default: true."""
    direct: FeatureState | None = None
    """Nested guests flush directly through the host, which is faster for virtualization-based security in Windows."""
    extended: FeatureState | None = None
    """The guest can flush single address ranges instead of the whole TLB."""


class FeatureVendorID(Model):
    """The vendor name of the hypervisor in the guest."""

    enabled: bool | None = None
    """`true` shows `vendorid`, `false` shows the default name. Default: true."""
    vendorid: str | None = None
    """The name to show, at most 12 characters; some GPU drivers do not work with the default name."""


class FeatureHyperv(Model):
    """Hyper-V enlightenments, which make Windows run faster on KVM; the machine type decides about absent ones."""

    evmcs: FeatureState | None = None
    """Enlightened VMCS: faster exits from nested guests, but without other nesting features. Needs `vapic`."""
    frequencies: FeatureState | None = None
    """Registers with the TSC and APIC frequencies, so that the guest does not measure them."""
    ipi: FeatureState | None = None
    """One call to interrupt many vCPUs; pays off when vCPUs outnumber the host's CPUs. Needs `vpindex`."""
    reenlightenment: FeatureState | None = None
    """Notifies the guest when the TSC frequency changes, for example after a live migration."""
    relaxed: FeatureState | None = None
    """The guest tolerates late timer interrupts on a busy host instead of crashing."""
    reset: FeatureState | None = None
    """The guest can reset itself through a Hyper-V register. Needs `synic`."""
    runtime: FeatureState | None = None
    """A register with the CPU time that each vCPU has received."""
    spinlocks: FeatureSpinlocks | None = None
    """Long waits for a lock are reported to the host, which then runs another vCPU."""
    synic: FeatureState | None = None
    """The synthetic interrupt controller, which `synictimer` and `reset` require."""
    synictimer: SyNICTimer | None = None
    """Synthetic timers, which avoid most periodic ticks of an idle Windows guest."""
    tlbflush: TLBFlush | None = None
    """The host flushes the TLBs of many vCPUs in one call. Needs `vpindex`."""
    vapic: FeatureState | None = None
    """Paravirtual access to the interrupt controller's busiest registers."""
    vendorid: FeatureVendorID | None = None
    """The hypervisor vendor name that the guest sees."""
    vpindex: FeatureState | None = None
    """Each vCPU can read its own number, on which `ipi`, `synic` and `tlbflush` rely."""


class HyperVPassthrough(Model):
    """All Hyper-V enlightenments of the node."""

    enabled: bool | None = None
    """`true` enables all enlightenments of the node; such a VM cannot be live-migrated."""


class FeatureKVM(Model):
    """Visibility of KVM in the guest."""

    hidden: bool | None = None
    """`true` hides KVM from the guest, for drivers that do not work in virtual machines. Default: false."""


class Features(Model):
    """Optional features of the virtual hardware."""

    acpi: FeatureState | None = None
    """ACPI tables; without them a guest cannot be shut down cleanly. Default: on."""
    apic: FeatureAPIC | None = None
    """The x86 interrupt controller; the machine type decides when absent."""
    hyperv: FeatureHyperv | None = None
    """Individual Hyper-V enlightenments for Windows guests. Cannot be combined with `hypervPassthrough`."""
    hyperv_passthrough: HyperVPassthrough | None = None
    """Every Hyper-V enlightenment of the node. Mutually exclusive with `hyperv`; prevents live migration."""
    kvm: FeatureKVM | None = None
    """Visibility of KVM in the guest."""
    pvspinlock: FeatureState | None = None
    """Paravirtual spinlocks for Linux guests; disable them for kernels that do not support them."""
    smm: FeatureState | None = None
    """System Management Mode, which EFI secure boot depends on."""
