"""Admission of the KubeVirt object: validate settings and warn about settings without effect."""

from virtshape.admission.checkresult import Evaluation
from virtshape.admission.rules.kubevirtsettings import check_effects, check_settings
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject


def evaluate_configuration(new: JsonObject, old: JsonObject | None, *, is_standalone: bool = False) -> Evaluation:
    """
    Return the object to store, with an error for each invalid setting and a warning for each ignored setting.

    The standalone server also ignores settings that only affect guests in pods.
    """
    spec = new.get("spec")
    if not spec or (old is not None and spec == old.get("spec")):
        return Evaluation(new, [])
    settings = spec.get("configuration") or {}
    found = [*check_settings(from_tree(settings, KubeVirtConfiguration), settings)]
    found += check_effects(spec, is_standalone=is_standalone)
    return Evaluation(new, found)
