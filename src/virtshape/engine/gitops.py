"""
Manifests for Git: VMs without the fields that servers and other tools write.

Applying such a manifest again changes nothing, because servers only add fields to it.
"""

from typing import Any, Final

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import LAST_APPLIED, OBSERVED_VERSIONS, RECAPTURE_ANNOTATION, VM_FINALIZER

_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations", "finalizers")
"""The fields of metadata that a manifest can set."""
_ANNOTATIONS: Final = frozenset(
    {
        LAST_APPLIED,
        RECAPTURE_ANNOTATION,
        *OBSERVED_VERSIONS,
        "argocd.argoproj.io/installation-id",
        "argocd.argoproj.io/tracking-id",
    }
)
_LABELS: Final = frozenset(
    f"{tool}.toolkit.fluxcd.io/{part}" for tool in ("helm", "kustomize") for part in ("name", "namespace")
)
_MATCHERS: Final = ("instancetype", "preference", "flavor")


def remove_server_fields(tree: JsonObject) -> JsonObject:
    """
    Return a copy of a VM without status, and without metadata that kubectl, Argo CD, Flux or the controllers write.

    Names of revisions are removed, because a VM that is created again gets other revisions. Fields that are `null` are
    removed too: a server treats them as absent. The UUID and the serial number of the firmware are preserved, because
    they identify the VM to its guest. console/src/vm/gitops.ts removes the same fields.
    """
    vm: JsonObject = _remove_null({name: value for name, value in tree.items() if name != "status"})
    if "metadata" in vm:
        vm["metadata"] = _clean_metadata(vm["metadata"])
    spec = vm.get("spec", {})
    for role in _MATCHERS:
        spec.get(role, {}).pop("revisionName", None)
    template = spec.get("template", {})
    if template.get("metadata") == {}:
        del template["metadata"]
    return vm


def _clean_metadata(metadata: JsonObject) -> JsonObject:
    kept = {name: metadata[name] for name in _METADATA if name in metadata}
    for name, removed in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        if name in kept:
            kept[name] = {key: value for key, value in kept[name].items() if key not in removed}
    if "finalizers" in kept:
        kept["finalizers"] = [each for each in kept["finalizers"] if each != VM_FINALIZER]
    return {name: value for name, value in kept.items() if value not in ({}, [])}


def _remove_null(value: Any) -> Any:
    match value:
        case dict():
            return {key: _remove_null(item) for key, item in value.items() if item is not None}
        case list():
            return [_remove_null(item) for item in value]
        case _:
            return value
