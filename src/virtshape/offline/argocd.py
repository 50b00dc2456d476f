"""
Argo CD settings for VMs: differences to ignore, and the health check.

A difference is ignored if a server replaces a field of the manifest, or sets a field that a sync must not remove.
"""

from importlib.resources import files
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import APP_NAME_LABEL, APP_PART_OF_LABEL

GROUP: Final = "kubevirt.io"
KIND: Final = "VirtualMachine"
CONFIG_MAP: Final = "argocd-cm"

_INFERENCE: Final = tuple(
    f"/spec/{matcher}/{field}"
    for matcher in ("instancetype", "preference")
    for field in ("inferFromVolume", "inferFromVolumeFailurePolicy")
)
"""Fields that the server replaces with the inferred name and kind."""
_REVISIONS: Final = tuple(f"/spec/{matcher}/revisionName" for matcher in ("instancetype", "preference", "flavor"))
_IDENTITY: Final = ("/spec/template/spec/domain/firmware/serial", "/spec/template/spec/domain/firmware/uuid")
_RUN_STRATEGY: Final = ("/spec/runStrategy", "/spec/running")


def list_ignored(*, run_strategy: bool = False) -> list[str]:
    """Return JSON pointers to the VM fields that Argo CD must ignore; with `run_strategy`, include the run strategy."""
    return [*_INFERENCE, *_REVISIONS, *_IDENTITY, *(_RUN_STRATEGY if run_strategy else ())]


def read_health_check() -> str:
    """Return the health check for VMs, a Lua script."""
    return files("virtshape.offline").joinpath("argocdhealth.lua").read_text("utf-8")


def build_ignored(*, run_strategy: bool = False) -> JsonObject:
    """Return the fields of an Application's spec with which Argo CD ignores differences and keeps live values."""
    ignored = {"group": GROUP, "kind": KIND, "jsonPointers": list_ignored(run_strategy=run_strategy)}
    return {"ignoreDifferences": [ignored], "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]}}


def build_settings(*, run_strategy: bool = False) -> dict[str, str]:
    """Return the settings for all applications: keys and values of the ConfigMap `argocd-cm`."""
    pointers = "".join(f"- {pointer}\n" for pointer in list_ignored(run_strategy=run_strategy))
    return {
        f"resource.customizations.health.{GROUP}_{KIND}": read_health_check(),
        f"resource.customizations.ignoreDifferences.{GROUP}_{KIND}": f"jsonPointers:\n{pointers}",
    }


def build_config_map(namespace: str, *, run_strategy: bool = False) -> JsonObject:
    """Return the ConfigMap of Argo CD with the settings for all applications."""
    labels = {APP_NAME_LABEL: CONFIG_MAP, APP_PART_OF_LABEL: "argocd"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace, "labels": labels},
        "data": build_settings(run_strategy=run_strategy),
    }
