"""Admission of the KubeVirt object: validate settings and warn about unknown and deprecated ones."""

from virtshape.admission.clusterstate import Admitted
from virtshape.admission.machine import refuse
from virtshape.admission.rules.settings import check_settings
from virtshape.admission.violation import split_violations
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject


def admit_configuration(new: JsonObject, old: JsonObject | None) -> Admitted:
    """Return the object to store, with a warning per ignored setting. Raise StatusError if a setting is invalid."""
    settings = (new.get("spec") or {}).get("configuration")
    if not settings or (old is not None and settings == (old.get("spec") or {}).get("configuration")):
        return Admitted(new, [])
    result = split_violations(check_settings(from_tree(settings, KubeVirtConfiguration), settings))
    if result.causes:
        refuse(result.causes, result.warnings)
    return Admitted(new, result.warnings)
