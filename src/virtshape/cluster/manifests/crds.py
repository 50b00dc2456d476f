"""CustomResourceDefinitions of an installation, with the webhook that converts between their versions."""

from typing import Final

from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.definitions import list_definitions, write_definition
from virtshape.cluster.manifests.certificates import annotate_ca_injection
from virtshape.cluster.manifests.naming import CONVERT_PATH, label_release, name_component
from virtshape.cluster.manifests.options import Options

CONVERTED_GROUP: Final = "instancetype.kubevirt.io"
_OWN_GROUPS: Final = ("kubevirt.io", CONVERTED_GROUP, "flavor.kubevirt.io")
_DISK_GROUP: Final = "cdi.kubevirt.io"


def list_names(options: Options) -> list[str]:
    """Return the names of the CRDs to install; the cluster must provide the CRDs for volume snapshots."""
    groups = {*_OWN_GROUPS, *([_DISK_GROUP] if options.cdi else [])}
    return [name for name in list_definitions() if name.partition(".")[2] in groups]


def list_converted() -> list[str]:
    """Return the names of the CRDs whose versions our webhook converts."""
    return [name for name in list_definitions() if name.partition(".")[2] == CONVERTED_GROUP]


def build_definitions(options: Options) -> list[JsonObject]:
    """Return the CRDs to install."""
    return [_build_definition(name, options) for name in list_names(options)]


def _build_definition(name: str, options: Options) -> JsonObject:
    tree = write_definition(name)
    metadata = {"name": name, "labels": label_release()}
    spec = tree["spec"]
    if spec["group"] == CONVERTED_GROUP:
        metadata |= annotate_ca_injection("webhook", options)
        spec = spec | {"conversion": _build_conversion(options.namespace)}
    return tree | {"metadata": metadata, "spec": spec}


def _build_conversion(namespace: str) -> JsonObject:
    service = {"namespace": namespace, "name": name_component("webhook"), "path": CONVERT_PATH, "port": 443}
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
    }
