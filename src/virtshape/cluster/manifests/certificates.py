"""
Serving certificates of the components: issued by cert-manager, or by each component itself.

A component that issues its own certificate keeps it in a Secret that the manifests create empty, so it needs no
permission to create Secrets. Manifests contain no keys.
"""

from typing import Final

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import SYSTEM, Component, begin, name_component, name_secret
from virtshape.cluster.manifests.options import Options

SERVING: Final[tuple[Component, ...]] = ("webhook", "apiserver")
_VERSION: Final = "cert-manager.io/v1"
_AUTHORITY: Final = f"{SYSTEM}-ca"
_ROOT: Final = f"{SYSTEM}-selfsigned"


def build_certificates(options: Options) -> list[JsonObject]:
    """Return the objects that certificates come from: empty Secrets, or cert-manager's Issuers and Certificates."""
    if options.webhook_cert == "self-signed":
        return [_build_empty_secret(component, options.namespace) for component in SERVING]
    return [
        *_build_authority(options.namespace),
        *(_build_certificate(component, options.namespace) for component in SERVING),
    ]


def annotate_ca_injection(component: Component, options: Options) -> JsonObject:
    """Return the metadata that makes cert-manager inject its CA bundle into an object; empty without cert-manager."""
    if options.webhook_cert == "self-signed":
        return {}
    return {"annotations": {"cert-manager.io/inject-ca-from": f"{options.namespace}/{name_component(component)}"}}


def _build_empty_secret(component: Component, namespace: str) -> JsonObject:
    return {**begin("v1", "Secret", name_secret(component), namespace, component=component), "type": "Opaque"}


def _build_authority(namespace: str) -> list[JsonObject]:
    issuer = {"kind": "Issuer", "name": _ROOT}
    certificate = {
        "isCA": True,
        "commonName": _AUTHORITY,
        "secretName": _AUTHORITY,
        "duration": "87600h0m0s",
        "privateKey": {"algorithm": "ECDSA", "size": 256},
        "issuerRef": issuer,
    }
    return [
        {**begin(_VERSION, "Issuer", _ROOT, namespace), "spec": {"selfSigned": {}}},
        {**begin(_VERSION, "Certificate", _AUTHORITY, namespace), "spec": certificate},
        {**begin(_VERSION, "Issuer", _AUTHORITY, namespace), "spec": {"ca": {"secretName": _AUTHORITY}}},
    ]


def _build_certificate(component: Component, namespace: str) -> JsonObject:
    name = name_component(component)
    host = f"{name}.{namespace}.svc"
    spec = {
        "secretName": name_secret(component),
        "dnsNames": [host, f"{host}.cluster.local"],
        "usages": ["digital signature", "server auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"kind": "Issuer", "name": _AUTHORITY},
    }
    return {**begin(_VERSION, "Certificate", name, namespace, component=component), "spec": spec}
