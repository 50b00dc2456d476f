"""
Random requests from a server's OpenAPI documents: every path, verb, parameter and content type, valid and malformed.

A seed determines the requests. Objects have few names, so that requests often find an object.
"""

import gzip
import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from tests.support.loopback import APPLY_PATCH, JSON_PATCH
from tests.support.upprocess import System

MAX_DEPTH: Final = 9
NAMES: Final = ("a", "b", "c")
NAMESPACES: Final = ("default", "default", "fuzz", "none")
ODD_TEXTS: Final = (
    "",
    "x",
    "A_b",
    "a/b",
    "..",
    "\x00",
    "\ud800",
    "\U0001d535é",
    "\u202e",
    "null",
    "1Gi",
    "-1",
    "1e10000001",
    "1e-999999999",
    "9" * 40,
    "x" * 300,
    "a=b,c in (d",
    "metadata.name=a",
    "2026-05-01T08:00:00Z",
    "10000-01-01T00:00:00Z",
    "%s%n{0}",
    "e30=",
)
QUANTITIES: Final = ("1Gi", "2Gi", "2", "500m", 1, 80, "x", "-1", "1e10000001", "1e-999999999", "9" * 40)
"""Values of fields that are a number or a string."""
ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    10**400,
    1e300,
    0.5,
    [],
    {},
    [None],
    [[]],
    {"": None},
)
ACCEPTS: Final = (
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "text/html",
    ";;=,,q=x",
    "*/*",
)
MEDIA_TYPES: Final = (
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "application/json; charset=\xff",
)
ODD_HEADERS: Final = (
    "Expect: 100-continue",
    "Impersonate-User: ann",
    "Impersonate-Group: a",
    "Impersonate-Extra-x%2fy: z",
    "X-Remote-User: admin",
    "Authorization: Basic x",
    "Authorization: Bearer \xff",
    "Accept-Encoding: gzip, br;q=0",
    "Content-Encoding: gzip",
    "If-Match: *",
    "Origin: https://example.com",
    "Cookie: a=b; c",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: x",
    "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA",
    "Audit-ID: \xff\x01",
    "Content-Length: -1",
    "Content-Length: 3",
    "Transfer-Encoding: chunked",
    "No colon",
    " folded",
    ": empty",
    "A: " + "x" * 70_000,
)
POINTERS: Final = (
    "",
    "/",
    "/metadata",
    "/metadata/labels",
    "/metadata/labels/a",
    "/spec",
    "/spec/x/0",
    "/-",
    "x",
    "/~2",
)


class Operation(NamedTuple):
    """One verb of one path."""

    method: str
    path: str
    parameters: tuple[str, ...]
    media_types: tuple[str, ...]
    schema: Any
    schemas: Mapping[str, Any]
    """All schemas of the document, to which the schema refers."""


class RandomRequest(NamedTuple):
    """The bytes of a request, and how to read its response."""

    data: bytes
    method: str
    is_watch: bool
    """True if the response may be a stream without an end."""
    is_malformed: bool
    """True if the end of the request may be unclear, so that the connection cannot be used again."""


def read_operations(system: System) -> list[Operation]:
    """Return all operations in the server's OpenAPI v3 documents."""
    found = []
    for entry in system.request("GET", "/openapi/v3")[1]["paths"].values():
        document = system.request("GET", entry["serverRelativeURL"])[1]
        schemas = document.get("components", {}).get("schemas", {})
        for path, item in document.get("paths", {}).items():
            shared = item.get("parameters", [])
            for method, operation in item.items():
                if method != "parameters":
                    parameters = [*shared, *operation.get("parameters", [])]
                    content = operation.get("requestBody", {}).get("content", {})
                    found.append(
                        Operation(
                            method.upper(),
                            path,
                            tuple(each["name"] for each in parameters if each.get("in") == "query"),
                            tuple(content),
                            next((media.get("schema", {}) for media in content.values()), {}),
                            schemas,
                        )
                    )
    return found


class RequestGenerator:
    """Generates requests to the operations of a server."""

    def __init__(self, operations: list[Operation], token: str, seed: str) -> None:
        self._operations = operations
        self._token = token
        self._random = Random(seed)  # noqa: S311 - the same requests in every run
        self._oddness = 0.0
        """Share of values that do not follow the schema, in the request that is being generated."""

    def generate(self) -> RandomRequest:
        """Return the next request."""
        random = self._random
        self._oddness = random.choice((0.0, 0.0, 0.003, 0.03))
        operation = random.choice(self._operations)
        method = operation.method
        if self._chance(0.03):
            method = random.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO"))
        media = random.choice(operation.media_types or MEDIA_TYPES)
        if self._chance(0.05):
            media = random.choice(MEDIA_TYPES)
        query = self._make_query(operation, media)
        body = self._make_body(operation, media) if operation.media_types or self._chance(0.05) else b""
        target = self._make_path(operation.path) + (f"?{query}" if query else "")
        lines = [f"{method} {target} HTTP/1.1", "Host: x", f"Accept: {self._make_accept()}"]
        lines += [f"Content-Type: {media}"] * bool(media) + [f"Content-Length: {len(body)}"]
        if not self._chance(0.01):
            lines.append(f"Authorization: Bearer {self._token}")
        extra = random.choices(ODD_HEADERS, k=random.randint(1, 2)) if self._chance(0.03) else []
        is_malformed = bool(extra) or method in ("TRACE", "FOO")
        head = "\r\n".join([*lines, *extra]).encode("latin-1", "replace")
        if "Content-Encoding: gzip" in extra:
            body = gzip.compress(body)
        data = head + b"\r\n\r\n" + body
        if self._chance(0.005):
            at = random.randrange(len(head))
            data, is_malformed = data[:at] + random.randbytes(3) + data[at:] + b"\r\n\r\n", True
        return RandomRequest(data, method, "watch=" in query, is_malformed)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _make_accept(self) -> str:
        return self._random.choice(ACCEPTS) if self._chance(0.1) else "application/json"

    def _make_path(self, path: str) -> str:
        parts = path.split("/")
        for index, part in enumerate(parts):
            if part.startswith("{"):
                known = NAMESPACES if part == "{namespace}" else NAMES
                name = self._make_text() if self._chance(0.03) else self._random.choice(known)
                parts[index] = quote(name.encode(errors="surrogatepass"), safe="")
            elif self._chance(0.002):
                parts[index] = quote(self._make_text().encode(errors="surrogatepass"))
        return "/".join(parts)

    def _make_query(self, operation: Operation, media: str) -> str:
        names = [name for name in operation.parameters if self._chance(0.08)]
        names += ["fieldManager"] if media == APPLY_PATCH and not self._chance(0.05) else []
        names += ["odd"] if self._chance(0.02) else []
        pairs = [(name, self._make_parameter(name)) for name in names]
        if any(name == "watch" for name, _ in pairs):
            pairs = [pair for pair in pairs if pair[0] != "timeoutSeconds"] + [("timeoutSeconds", "1")]
        return "&".join(f"{name}={quote(text.encode(errors='surrogatepass'))}" for name, text in pairs)

    def _make_parameter(self, name: str) -> str:
        usual = {
            "dryRun": "All",
            "fieldManager": "fuzzer",
            "fieldValidation": self._random.choice(("Strict", "Warn", "Ignore")),
            "labelSelector": self._random.choice(("a=b", "a", "!a", "a in (b,c)", "a notin (b)", "a>5")),
            "fieldSelector": self._random.choice(("metadata.name=a", "metadata.namespace!=a", "spec.x=1")),
            "propagationPolicy": self._random.choice(("Foreground", "Background", "Orphan")),
            "resourceVersionMatch": self._random.choice(("Exact", "NotOlderThan")),
        }
        if self._chance(0.3):
            return self._make_text()
        return usual.get(name) or self._random.choice(("0", "1", "5", "true", "false"))

    def _make_text(self) -> str:
        return self._random.choice(ODD_TEXTS)

    def _make_body(self, operation: Operation, media: str) -> bytes:
        if self._chance(0.02):
            return self._random.choice(
                (b"", b"{", b"\xff\xfe", b"k8s\0\x0a\x02\x08\x01", b"null", b"a: &x [*x]", b"[]")
            )
        if self._chance(0.01):
            return self._make_nested()
        tree = [self._make_operation() for _ in range(3)] if media == JSON_PATCH else self._make_object(operation)
        body = json.dumps(tree).encode()
        return self._random.choice((body[: len(body) // 2], body + body, body * 50)) if self._chance(0.01) else body

    def _make_nested(self) -> bytes:
        depth = self._random.choice((30, 150, 250, 5000))
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"spec":', b"}"), (b"- ", b"")))
        return opening * depth + b"1" + closing * depth

    def _make_operation(self) -> dict[str, Any]:
        operation = {"op": self._random.choice(("add", "remove", "replace", "move", "copy", "test", "odd"))}
        operation["path"] = self._random.choice(POINTERS)
        more = {"from": self._random.choice(POINTERS), "value": self._make_odd()}
        return operation | {name: value for name, value in more.items() if self._chance(0.7)}

    def _make_object(self, operation: Operation) -> Any:
        tree = self._make_value(operation.schema, operation, 0)
        if not isinstance(tree, dict) or self._chance(0.03):
            return tree
        described = _resolve(operation.schema, operation).get("x-kubernetes-group-version-kind") or []
        if described and not self._chance(0.02):
            group, version = described[0].get("group", ""), described[0]["version"]
            tree |= {"apiVersion": f"{group}/{version}" if group else version, "kind": described[0]["kind"]}
        if "metadata" in _resolve(operation.schema, operation).get("properties", {}) and not self._chance(0.1):
            labels = {} if self._chance(0.7) else {"a": self._random.choice(("b", "c", self._make_text()))}
            tree["metadata"] = {"name": self._random.choice(NAMES)} | ({"labels": labels} if labels else {})
        return tree

    def _make_value(self, schema: Any, operation: Operation, depth: int) -> Any:
        schema = _resolve(schema, operation)
        if self._chance(self._oddness):
            return self._make_odd()
        if "enum" in schema and not self._chance(self._oddness):
            return self._random.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._make_members(schema, operation, depth)
            case "array":
                count = 0 if depth > MAX_DEPTH else self._random.choice((0, 1, 1, 2))
                return [self._make_value(schema.get("items", {}), operation, depth + 1) for _ in range(count)]
            case "string":
                return self._make_string(schema)
            case "integer" | "number":
                return self._random.choice((0, 1, 2, 80, 1024, -1, 2**31 - 1))
            case "boolean":
                return self._chance(0.5)
            case _:
                return self._random.choice(QUANTITIES)

    def _make_members(self, schema: Any, operation: Operation, depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        share = 0.4 if depth < 1 else 0.12 if depth < MAX_DEPTH else 0.0
        members = {
            name: self._make_value(inner, operation, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if (name in required and not self._chance(self._oddness)) or self._chance(share)
        }
        if (more := schema.get("additionalProperties")) and depth < MAX_DEPTH and self._chance(0.5):
            members[self._random.choice(("a", "memory", "cpu", self._make_text()))] = self._make_value(
                more if isinstance(more, dict) else {}, operation, depth + 1
            )
        if self._chance(self._oddness):
            members[self._random.choice(("$patch", "unknown", "", "f:x", self._make_text()))] = self._make_odd()
        return members

    def _make_string(self, schema: Any) -> str:
        if self._chance(self._oddness * 2):
            return self._make_text()
        if schema.get("format") == "date-time":
            return "2026-05-01T08:00:00Z"
        return self._random.choice((*NAMES, "default", "x", "Always", "virtio", "1Gi", "True", "TCP", "e30="))

    def _make_odd(self) -> Any:
        return self._make_text() if self._chance(0.5) else self._random.choice(ODD_VALUES)


def _resolve(schema: Any, operation: Operation) -> Any:
    """Return a schema without references at its top."""
    while isinstance(schema, dict) and (parts := schema.get("allOf")):
        schema = {**schema, **parts[0]}
        del schema["allOf"]
    if isinstance(schema, dict) and "$ref" in schema:
        return _resolve(operation.schemas[schema["$ref"].rpartition("/")[2]], operation)
    return schema
