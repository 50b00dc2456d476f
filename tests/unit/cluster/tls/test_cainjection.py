"""Injection of CA bundles into webhooks, CRD conversion and API services."""

import base64
import json
from typing import Any, cast

import pytest

from virtshape.api.status import StatusError
from virtshape.client.rest import RestClient
from virtshape.client.transport import Reply
from virtshape.cluster.tls.cainjection import api_service_target, conversion_target, inject_ca_bundle, webhook_target


class RecordingClient:
    """A client of a fake server with these objects that records patches."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self._objects = objects
        self.patched: dict[str, Any] = {}

    async def request(self, method: str, target: str, body: bytes = b"", content_type: str = "") -> Reply:
        if target not in self._objects:
            raise StatusError(404, "NotFound", target)
        if method == "PATCH":
            self.patched[target] = (content_type.partition("+")[0].removeprefix("application/"), json.loads(body))
        return Reply(200, {}, json.dumps(self._objects[target]).encode())


CA = b"authority"
BUNDLE = base64.b64encode(CA).decode()
HOOKS = webhook_target("mutatingwebhookconfigurations", "virtshape")
CRD = conversion_target("things.example.com")
API = api_service_target("v1.example.com")
TRUSTS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "nothing to inject": ({}, {}, 3),
    "webhooks without a CA bundle": (
        {
            HOOKS.path: {
                "webhooks": [
                    {"name": "a", "clientConfig": {}},
                    {"name": "b", "clientConfig": {"caBundle": BUNDLE}},
                    {"name": "c", "clientConfig": {"caBundle": "b2xk"}},
                ]
            }
        },
        {
            HOOKS.path: (
                "strategic-merge-patch",
                {"webhooks": [{"name": name, "clientConfig": {"caBundle": BUNDLE}} for name in "ac"]},
            )
        },
        2,
    ),
    "CRD with conversion": (
        {CRD.path: {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}}}}},
        {
            CRD.path: (
                "merge-patch",
                {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": BUNDLE}}}}},
            )
        },
        2,
    ),
    "CRD without conversion": ({CRD.path: {"spec": {"conversion": {"strategy": "None"}}}}, {}, 2),
    "APIService": (
        {API.path: {"spec": {"service": {"name": "a"}}}},
        {API.path: ("merge-patch", {"spec": {"caBundle": BUNDLE}})},
        2,
    ),
    "current CA bundle": ({API.path: {"spec": {"service": {"name": "a"}, "caBundle": BUNDLE}}}, {}, 2),
}


@pytest.mark.parametrize(("objects", "patched", "absent"), TRUSTS.values(), ids=TRUSTS.keys())
async def test_ca_bundle_is_injected_only_where_it_is_missing_or_outdated(
    objects: dict[str, Any], patched: dict[str, Any], absent: int
) -> None:
    client = RecordingClient(objects)
    missing = await inject_ca_bundle(cast("RestClient", client), [HOOKS, CRD, API], CA)
    assert (client.patched, len(missing)) == (patched, absent)
