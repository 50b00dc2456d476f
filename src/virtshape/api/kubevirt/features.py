"""
Structs of the guest's clock, timers and hypervisor features.

An empty block (`acpi: {}`) enables a feature; an absent one is left to the preference, then to the machine type.
"""

from virtshape.api.model import Int32, Model, UInt32


class HPETTimer(Model):
    """The High Precision Event Timer of an x86 guest."""

    present: bool | None = None
    """Whether the guest has this timer; `false` removes it even if the machine type has one. Default: true."""
    tick_policy: str | None = None
    """How late ticks are delivered: `delay`, `catchup`, `merge` or `discard`."""


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
    """How late ticks are delivered: `delay`, `catchup` or `discard`."""


class RTCTimer(Model):
    """The battery-backed real-time clock and its periodic interrupt."""

    present: bool | None = None
    """Whether the guest has this timer; `false` removes it. Default: true."""
    tick_policy: str | None = None
    """How late ticks are delivered: `delay` or `catchup`; Windows guests usually need `catchup`."""
    track: str | None = None
    """Which time the clock follows: `guest` stops while the VM is paused, `wall` follows the host's clock."""


class Timer(Model):
    """The timers of a guest; an absent one is left to the machine type."""

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
    """A feature that is enabled when this is present, unless `enabled` is false."""

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
    """Nested guests flush directly through the host; faster for Windows with virtualization-based security."""
    extended: FeatureState | None = None
    """The guest can flush single address ranges instead of the whole TLB."""


class FeatureVendorID(Model):
    """The vendor name of the hypervisor in the guest."""

    enabled: bool | None = None
    """`true` shows `vendorid`, `false` shows the default name. Default: true."""
    vendorid: str | None = None
    """The name to show, at most 12 characters; some GPU drivers do not work with the default name."""


class FeatureHyperv(Model):
    """Hyper-V enlightenments, which make Windows run faster on KVM; an absent one is left to the machine type."""

    evmcs: FeatureState | None = None
    """Enlightened VMCS: faster exits from nested guests, but without other nesting features. Needs `vapic`."""
    frequencies: FeatureState | None = None
    """Registers with the TSC and APIC frequencies, so that the guest does not measure them."""
    ipi: FeatureState | None = None
    """One call to interrupt many vCPUs; pays off when vCPUs outnumber the host's CPUs. Needs `vpindex`."""
    reenlightenment: FeatureState | None = None
    """Notifies the guest when the TSC frequency changes, for example after a live migration."""
    relaxed: FeatureState | None = None
    """The guest tolerates late timer interrupts on a busy host instead of a blue screen."""
    reset: FeatureState | None = None
    """The guest can reset itself through a Hyper-V register. Needs `synic`."""
    runtime: FeatureState | None = None
    """A register with the CPU time that each vCPU has received."""
    spinlocks: FeatureSpinlocks | None = None
    """Long waits for a lock are reported to the host, which then runs another vCPU."""
    synic: FeatureState | None = None
    """The synthetic interrupt controller, on which `synictimer` and `reset` build."""
    synictimer: SyNICTimer | None = None
    """Synthetic timers, which avoid most periodic ticks of an idle Windows guest."""
    tlbflush: TLBFlush | None = None
    """The host flushes the TLBs of many vCPUs in one call. Needs `vpindex`."""
    vapic: FeatureState | None = None
    """Paravirtual access to the interrupt controller's busiest registers."""
    vendorid: FeatureVendorID | None = None
    """The hypervisor vendor name that the guest sees."""
    vpindex: FeatureState | None = None
    """Each vCPU can read its own number; `ipi`, `synic` and `tlbflush` rely on it."""


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
    """The x86 interrupt controller; left to the machine type when absent."""
    hyperv: FeatureHyperv | None = None
    """Individual Hyper-V enlightenments for Windows guests. Cannot be combined with `hypervPassthrough`."""
    hyperv_passthrough: HyperVPassthrough | None = None
    """Every Hyper-V enlightenment of the node; excludes `hyperv` and live migration."""
    kvm: FeatureKVM | None = None
    """Visibility of KVM in the guest."""
    pvspinlock: FeatureState | None = None
    """Paravirtual spinlocks for Linux guests; disable them for kernels that do not support them."""
    smm: FeatureState | None = None
    """System Management Mode, which EFI secure boot depends on."""
