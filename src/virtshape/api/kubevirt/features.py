from virtshape.api.model import Int32, Model, UInt32


class HPETTimer(Model):
    present: bool | None = None
    tick_policy: str | None = None


class HypervTimer(Model):
    present: bool | None = None


class KVMTimer(Model):
    present: bool | None = None


class PITTimer(Model):
    present: bool | None = None
    tick_policy: str | None = None


class RTCTimer(Model):
    present: bool | None = None
    tick_policy: str | None = None
    track: str | None = None


class Timer(Model):
    hpet: HPETTimer | None = None
    hyperv: HypervTimer | None = None
    kvm: KVMTimer | None = None
    pit: PITTimer | None = None
    rtc: RTCTimer | None = None


class ClockOffsetUTC(Model):
    offset_seconds: Int32 | None = None


class Clock(Model):
    timer: Timer | None = None
    timezone: str | None = None
    utc: ClockOffsetUTC | None = None


class FeatureState(Model):
    enabled: bool | None = None


class FeatureAPIC(Model):
    enabled: bool | None = None
    end_of_interrupt: bool | None = None


class FeatureSpinlocks(Model):
    enabled: bool | None = None
    spinlocks: UInt32 | None = None


class SyNICTimer(Model):
    direct: FeatureState | None = None
    enabled: bool | None = None


class TLBFlush(Model):
    direct: FeatureState | None = None
    enabled: bool | None = None
    extended: FeatureState | None = None


class FeatureVendorID(Model):
    enabled: bool | None = None
    vendorid: str | None = None


class FeatureHyperv(Model):
    evmcs: FeatureState | None = None
    frequencies: FeatureState | None = None
    ipi: FeatureState | None = None
    reenlightenment: FeatureState | None = None
    relaxed: FeatureState | None = None
    reset: FeatureState | None = None
    runtime: FeatureState | None = None
    spinlocks: FeatureSpinlocks | None = None
    synic: FeatureState | None = None
    synictimer: SyNICTimer | None = None
    tlbflush: TLBFlush | None = None
    vapic: FeatureState | None = None
    vendorid: FeatureVendorID | None = None
    vpindex: FeatureState | None = None


class HyperVPassthrough(Model):
    enabled: bool | None = None


class FeatureKVM(Model):
    hidden: bool | None = None


class Features(Model):
    acpi: FeatureState | None = None
    apic: FeatureAPIC | None = None
    hyperv: FeatureHyperv | None = None
    hyperv_passthrough: HyperVPassthrough | None = None
    kvm: FeatureKVM | None = None
    pvspinlock: FeatureState | None = None
    smm: FeatureState | None = None
