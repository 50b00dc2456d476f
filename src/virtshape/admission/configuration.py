"""Admission of the KubeVirt object: validate settings and warn about unknown and deprecated ones."""

from virtshape.admission.rules.settings import check_settings
from virtshape.admission.violation import Judgement
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject


def judge_configuration(new: JsonObject, old: JsonObject | None) -> Judgement:
    """Return the object to store, its invalid settings, and a warning per ignored setting."""
    settings = (new.get("spec") or {}).get("configuration")
    if not settings or (old is not None and settings == (old.get("spec") or {}).get("configuration")):
        return Judgement(new, [])
    return Judgement(new, list(check_settings(from_tree(settings, KubeVirtConfiguration), settings)))
