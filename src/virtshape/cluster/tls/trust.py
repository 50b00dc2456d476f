"""
Whom the API server is to trust when it calls us: our authority, written where it looks for it.

Changes nothing else of those objects, and nothing that is right already.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from virtshape.api.status import StatusError
from virtshape.client.rest import RestClient

_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"

Patch = dict[str, Any]


class Truster(Struct, frozen=True):
    """An object that says whom to trust: where it is, and what is to change in it for a certain bundle."""

    path: str
    find_patch: Callable[[Any, str], Patch | None]
    content_type: str = _MERGE


def trust_webhooks(kind: str, name: str) -> Truster:
    """A configuration of webhooks: all of them are called at our address."""
    return Truster(f"/apis/admissionregistration.k8s.io/v1/{kind}/{name}", _patch_webhooks, _STRATEGIC)


def trust_conversion(name: str) -> Truster:
    """A definition whose versions we convert."""
    return Truster(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", _patch_conversion)


def trust_api_service(name: str) -> Truster:
    """A part of the API that we serve."""
    return Truster(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}", _patch_api_service)


async def spread_trust(client: RestClient, trusters: Iterable[Truster], authority: bytes) -> list[str]:
    """Have all these objects trust the authority; the paths of those that are not there."""
    bundle, absent = b64encode(authority).decode(), []
    for truster in trusters:
        try:
            found = msgspec.json.decode((await client.request("GET", truster.path)).body)
        except StatusError as error:
            if error.code != 404:
                raise
            absent.append(truster.path)
            continue
        patch = truster.find_patch(found, bundle)
        if patch is not None:
            await client.request("PATCH", truster.path, msgspec.json.encode(patch), truster.content_type)
    return absent


def _patch_webhooks(found: Any, bundle: str) -> Patch | None:
    webhooks = found.get("webhooks") or []
    wrong = [one["name"] for one in webhooks if one["clientConfig"].get("caBundle") != bundle]
    if not wrong:
        return None
    return {"webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in wrong]}


def _patch_conversion(found: Any, bundle: str) -> Patch | None:
    webhook = (found["spec"].get("conversion") or {}).get("webhook")
    if webhook is None or (webhook.get("clientConfig") or {}).get("caBundle") == bundle:
        return None
    return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}


def _patch_api_service(found: Any, bundle: str) -> Patch | None:
    if found["spec"].get("service") is None or found["spec"].get("caBundle") == bundle:
        return None
    return {"spec": {"caBundle": bundle}}
