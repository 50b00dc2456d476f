"""Hostile requests: the CPU time and the size of the response stay within limits."""

import time
from typing import Any

import pytest
from tests.integration.objects import NamespacePaths, build_config
from tests.support.loopback import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client

YAML = "application/yaml"
JSON = "application/json"
MAX_CPU_SECONDS = 3.0
"""CPU seconds of server and client, which run in one process; a quadratic algorithm would take minutes."""


def build_owner(number: int, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "name": f"n{number}", "uid": f"u{number}", **fields}


BODIES: dict[str, tuple[str, object, int]] = {
    "many owners": (JSON, build_config(ownerReferences=[build_owner(n) for n in range(15_000)]), 201),
    "the same owner": (JSON, build_config(ownerReferences=[build_owner(1)] * 15_000), 201),
    "many controllers": (
        JSON,
        build_config(ownerReferences=[build_owner(n, controller=True) for n in range(10_000)]),
        422,
    ),
    "many bad labels": (JSON, build_config(labels={f"-l{n}": "-x" for n in range(100_000)}), 422),
    "many finalizers": (JSON, build_config(finalizers=[f"f{n}" for n in range(30_000)]), 422),
    "many unknown fields": (JSON, build_config() | {f"u{n}": 1 for n in range(100_000)}, 201),
    "a huge integer": (JSON, b'{"metadata": {"generation": %b}}' % (b"9" * 2_900_000), 400),
    "many empty documents": (YAML, b"---\n#\n" * 450_000, 400),
    "many objects": (YAML, b"{}\n" * 900_000, 400),
    "a huge integer in YAML": (YAML, b"a: %b" % (b"9" * 2_900_000), 400),
    "nested lists": (YAML, b"- " * 1_400_000, 400),
    "nested flow lists": (YAML, b"a: " + b"[" * 2_900_000, 400),
    "a decompression bomb": (JSON, b"\x1f\x8b" + bytes(100), 400),
}


@pytest.mark.parametrize(("media", "body", "code"), BODIES.values(), ids=BODIES)
def test_hostile_body_gets_a_fast_and_short_response(
    client: Client, paths: NamespacePaths, media: str, body: object, code: int
) -> None:
    client.close()
    began = time.process_time()
    reply = client.send(
        "POST", paths.core("configmaps"), body, headers={"Content-Type": media}, query={"fieldValidation": "Ignore"}
    )
    assert reply.status == code, reply.body[:300]
    assert time.process_time() - began < MAX_CPU_SECONDS
    assert len(reply.body) < 3_500_000


INSERTS = [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"] * 50_000}] + [
    {"op": "add", "path": "/metadata/finalizers/0", "value": "a/c"}
] * 9_000
COPIES = [{"op": "add", "path": "/data/b", "value": "x" * 500_000}] + [
    {"op": "copy", "from": "/data", "path": f"/data{n}"} for n in range(1000)
]
ENV = {"spec": {"containers": [{"name": "a", "env": [{"name": f"n{n}"} for n in range(20_000)]}]}}
REVERSED = {"spec": {"containers": [{"name": "a", "env": [{"name": f"n{n}"} for n in range(19_999, -1, -1)]}]}}
PATCHES: dict[str, tuple[str, str, object, int]] = {
    "many inserts": ("configmaps/settings", JSON_PATCH, INSERTS, 200),
    "many copies": ("configmaps/settings", JSON_PATCH, COPIES, 422),
    "too many operations": ("configmaps/settings", JSON_PATCH, [{"op": "test", "path": "/kind"}] * 10_001, 413),
    "a long list merged": ("pods/pod", STRATEGIC_PATCH, ENV, 200),
    "a long list merged in another order": ("pods/pod", STRATEGIC_PATCH, REVERSED, 200),
    "many fields": ("configmaps/settings", MERGE_PATCH, {"data": {f"k{n}": "" for n in range(30_000)}}, 200),
    "a long list applied": (
        "pods/pod",
        APPLY_PATCH,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **ENV},
        200,
    ),
}


@pytest.mark.parametrize(("path", "media", "patch", "code"), PATCHES.values(), ids=PATCHES)
def test_hostile_patch_gets_a_fast_response(
    client: Client, paths: NamespacePaths, path: str, media: str, patch: object, code: int
) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}
    env = [{"name": f"n{n}"} for n in range(1000)]
    assert client.post(paths.core("configmaps"), build_config()).status == 201
    made = client.post(paths.core("pods"), pod | {"spec": {"containers": [{"name": "a", "image": "b", "env": env}]}})
    assert made.status == 201
    began = time.process_time()
    reply = client.patch(paths.core(path), patch, media, fieldManager="tester")
    assert reply.status == code, reply.body[:300]
    assert time.process_time() - began < MAX_CPU_SECONDS


TEXTS = {
    "one long word": "a" * 60_000,
    "parentheses": "(" * 60_000,
    "operators": "=" * 60_000,
    "commas": "a," * 30_000,
    "spaces": f"a{' ' * 20_000}b",
    "backslashes": "metadata.name=" + "\\" * 20_000,
    "semicolons": ";" * 60_000,
    "a set": f"a in ({','.join('b' * 20_000)})",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_selectors_and_headers_get_a_fast_response(client: Client, paths: NamespacePaths, text: str) -> None:
    path = paths.core("configmaps")
    began = time.process_time()
    for query in ({"labelSelector": text}, {"fieldSelector": text}, {"continue": text}, {"resourceVersion": text}):
        assert client.get(path, **query).status in (200, 400, 431)
        client.close()
    for header in ("Accept", "Content-Type", "Authorization", "User-Agent", "Impersonate-Group"):
        assert client.send("POST", path, {}, headers={header: text}).status < 500
        client.close()
    assert time.process_time() - began < MAX_CPU_SECONDS
