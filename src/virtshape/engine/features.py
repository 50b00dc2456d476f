"""Guest features such as ACPI, APIC and Hyper-V: preferred values for features that the VM leaves unset."""

from virtshape.api.instancetype.preference import FeaturePreferences
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.features import FeatureHyperv, Features, FeatureState


def apply_feature_preferences(domain: DomainSpec, preferred: FeaturePreferences) -> None:
    """
    Fill in the preferred features that the VM leaves unset, each Hyper-V feature separately.

    If neither the VM nor the preference sets ACPI, ACPI is added.
    """
    features = domain.features = domain.features or Features()
    features.acpi = features.acpi or preferred.preferred_acpi or FeatureState()
    features.apic = features.apic or preferred.preferred_apic
    features.kvm = features.kvm or preferred.preferred_kvm
    features.pvspinlock = features.pvspinlock or preferred.preferred_pvspinlock
    features.smm = features.smm or preferred.preferred_smm
    if preferred.preferred_hyperv is not None:
        hyperv = features.hyperv = features.hyperv or FeatureHyperv()
        for name in FeatureHyperv.__struct_fields__:
            setattr(hyperv, name, getattr(hyperv, name) or getattr(preferred.preferred_hyperv, name))
