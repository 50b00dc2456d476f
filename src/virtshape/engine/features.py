"""
Guest features: ACPI, APIC, Hyper-V and the like, as far as a preference asks and the VM does not say.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import FeaturePreferences
from virtshape.api.kubevirt.features import FeatureHyperv, Features, FeatureState
from virtshape.engine.draft import Draft

_WISHES = (
    ("preferred_apic", "apic"),
    ("preferred_kvm", "kvm"),
    ("preferred_pvspinlock", "pvspinlock"),
    ("preferred_smm", "smm"),
)


def apply_feature_preferences(draft: Draft, preferred: FeaturePreferences) -> None:
    """Fill in what the VM leaves open; Hyper-V feature by feature."""
    domain = draft.spec.domain
    if domain.features is None:
        draft.put(domain, "features", Features())
    features = domain.features
    assert features is not None
    draft.offer(features, "acpi", preferred.preferred_acpi or FeatureState())
    for wish, name in _WISHES:
        draft.offer(features, name, getattr(preferred, wish))
    if preferred.preferred_hyperv is not None:
        if features.hyperv is None:
            draft.put(features, "hyperv", FeatureHyperv())
        assert features.hyperv is not None
        for name in FeatureHyperv.__struct_fields__:
            draft.offer(features.hyperv, name, getattr(preferred.preferred_hyperv, name))
