"""CA injection: write a component's CA into the objects that make the API server call the component."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.wellknown import MERGE_PATCH, STRATEGIC_PATCH
from virtshape.client.rest import RestClient


class InjectionTarget(Struct, frozen=True):
    """An object with a CA bundle: its path, and a function that returns the patch to set the bundle, if needed."""

    path: str
    find_patch: Callable[[Any, str], JsonObject | None]
    content_type: str = MERGE_PATCH


def webhook_target(kind: str, name: str) -> InjectionTarget:
    """Return the target for all webhooks of a webhook configuration."""
    return InjectionTarget(f"/apis/admissionregistration.k8s.io/v1/{kind}/{name}", _patch_webhooks, STRATEGIC_PATCH)


def conversion_target(name: str) -> InjectionTarget:
    """Return the target for a CustomResourceDefinition with a conversion webhook."""
    return InjectionTarget(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", _patch_conversion)


def api_service_target(name: str) -> InjectionTarget:
    """Return the target for an APIService."""
    return InjectionTarget(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}", _patch_api_service)


async def inject_ca_bundle(client: RestClient, targets: Iterable[InjectionTarget], authority: bytes) -> list[str]:
    """Set the CA bundle of all targets; return the paths of targets that do not exist."""
    bundle, missing = b64encode(authority).decode(), []
    for target in targets:
        try:
            found = msgspec.json.decode((await client.request("GET", target.path)).body)
        except StatusError as error:
            if error.code != 404:
                raise
            missing.append(target.path)
            continue
        patch = target.find_patch(found, bundle)
        if patch is not None:
            await client.request("PATCH", target.path, msgspec.json.encode(patch), target.content_type)
    return missing


def _patch_webhooks(found: Any, bundle: str) -> JsonObject | None:
    webhooks = found.get("webhooks") or []
    wrong = [one["name"] for one in webhooks if one["clientConfig"].get("caBundle") != bundle]
    if not wrong:
        return None
    return {"webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in wrong]}


def _patch_conversion(found: Any, bundle: str) -> JsonObject | None:
    webhook = (found["spec"].get("conversion") or {}).get("webhook")
    if webhook is None or (webhook.get("clientConfig") or {}).get("caBundle") == bundle:
        return None
    return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}


def _patch_api_service(found: Any, bundle: str) -> JsonObject | None:
    if found["spec"].get("service") is None or found["spec"].get("caBundle") == bundle:
        return None
    return {"spec": {"caBundle": bundle}}
