"""
Serving certificates of the components: issued by cert-manager, or by each component itself.

A component that issues its own certificate stores it in a Secret that the manifests create empty, so it needs no
permission to create Secrets. Manifests contain no keys.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import SERVING, SYSTEM, Component, begin, name_component, name_secret
from virtshape.cluster.manifests.options import Options

_VERSION: Final = "cert-manager.io/v1"
_AUTHORITY: Final = f"{SYSTEM}-ca"
_ROOT: Final = f"{SYSTEM}-selfsigned"


def build_authority(options: Options) -> list[JsonObject]:
    """Return the CA and the Issuers of cert-manager for all certificates; an empty list without cert-manager."""
    return [] if options.webhook_cert == "self-signed" else _build_issuers(options.namespace)


def build_certificates(components: Iterable[Component], options: Options) -> list[JsonObject]:
    """Return an empty Secret, or a Certificate for cert-manager, for each component that serves HTTPS."""
    build = _build_empty_secret if options.webhook_cert == "self-signed" else _build_certificate
    return [build(component, options) for component in components if component in SERVING]


def list_extra_hosts(component: Component, options: Options) -> list[str]:
    """Return host names of a component other than those of its Service."""
    return [options.console_host] if component == "console" else []


def annotate_ca_injection(component: Component, options: Options) -> JsonObject:
    """Return the metadata that makes cert-manager inject its CA bundle into an object; empty without cert-manager."""
    if options.webhook_cert == "self-signed":
        return {}
    return {"annotations": {"cert-manager.io/inject-ca-from": f"{options.namespace}/{name_component(component)}"}}


def _build_empty_secret(component: Component, options: Options) -> JsonObject:
    return {**begin("v1", "Secret", name_secret(component), options.namespace, component=component), "type": "Opaque"}


def _build_issuers(namespace: str) -> list[JsonObject]:
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


def _build_certificate(component: Component, options: Options) -> JsonObject:
    name, namespace = name_component(component), options.namespace
    host = f"{name}.{namespace}.svc"
    spec = {
        "secretName": name_secret(component),
        "dnsNames": [host, f"{host}.cluster.local", *list_extra_hosts(component, options)],
        "usages": ["digital signature", "server auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"kind": "Issuer", "name": _AUTHORITY},
    }
    return {**begin(_VERSION, "Certificate", name, namespace, component=component), "spec": spec}
