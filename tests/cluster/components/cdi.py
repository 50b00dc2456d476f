"""
A fake CDI for cluster tests: its kinds, its API for upload tokens, and its upload proxy.

Claims and DataVolumes that wait for an upload become ready, and receive the uploaded data.
"""

import contextlib
import json
import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.components.installation import Installation
from tests.cluster.install import retry, wait_for_definitions

from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.certificates import Authority, make_key
from virtshape.cluster.manifests.crds import build_definitions
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.tls.context import build_context

STORAGE = "cdi.kubevirt.io/storage"
GROUP = "upload.cdi.kubevirt.io"
SERVICE = "cdi-api"
SYSTEM = "default"
PAUSE = 0.2
MERGE = {"Content-Type": "application/merge-patch+json"}
TOKENS = re.compile(rf"/apis/{GROUP}/v1beta1/namespaces/([^/]+)/uploadtokenrequests\b.*")
READY = {f"{STORAGE}.upload.target": "", f"{STORAGE}.pod.phase": "Running", f"{STORAGE}.pod.ready": "true"}
FILLED = {f"{STORAGE}.pod.phase": "Succeeded", f"{STORAGE}.pod.ready": "false"}
UPLOADS = ("/v1beta1/upload-async", "/v1beta1/upload")
FindClaim = Callable[[str, str], Path]


class TokenRequest(NamedTuple):
    """A request for an upload token: its user and claim."""

    user: str
    namespace: str
    claim: str


class FakeCdi:
    """The parts of CDI that virtctl uses; uploads are written to the file that `find_claim` returns."""

    def __init__(self, installation: Installation, find_claim: FindClaim) -> None:
        self._plane = installation.plane
        self._find_claim = find_claim
        self.asked: list[TokenRequest] = []
        self.sent: list[tuple[str, str]] = []

    def issue_token(self, user: str, namespace: str, body: JsonObject) -> JsonObject:
        """Record a token request and return it with a token in its status."""
        self.asked.append(TokenRequest(user, namespace, body["spec"]["pvcName"]))
        return {**body, "status": {"token": f"t{len(self.asked)}"}}

    def find_request(self, authorization: str) -> TokenRequest | None:
        """Return the request for which a token was issued, or None if the token is unknown."""
        found = re.fullmatch(r"Bearer t(\d+)", authorization)
        return self.asked[int(found[1]) - 1] if found and 0 < int(found[1]) <= len(self.asked) else None

    def write_upload(self, asked: TokenRequest, path: str, data: bytes) -> None:
        """Write uploaded data to a claim, and mark the claim and its DataVolume as complete."""
        self.sent.append((asked.claim, path))
        self._find_claim(asked.namespace, asked.claim).write_bytes(data)
        volume = f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{asked.namespace}/datavolumes/{asked.claim}/status"
        self._plane.request("PATCH", volume, {"status": {"phase": "Succeeded"}}, **MERGE)
        self._annotate(asked.namespace, asked.claim, FILLED)

    def sync(self) -> None:
        """Make new DataVolumes and claims ready for uploads."""
        for volume in self._list("/apis/cdi.kubevirt.io/v1beta1/datavolumes"):
            if "upload" in volume["spec"]["source"] and not (volume.get("status") or {}).get("phase"):
                self._make_claim(volume)
        for claim in self._list("/api/v1/persistentvolumeclaims"):
            annotations = claim["metadata"].get("annotations") or {}
            if f"{STORAGE}.upload.target" in annotations and f"{STORAGE}.pod.ready" not in annotations:
                self._annotate(claim["metadata"]["namespace"], claim["metadata"]["name"], READY)

    def _list(self, path: str) -> list[JsonObject]:
        """Return the objects at a path; an empty list if the API server does not serve the kind yet."""
        code, listing = self._plane.request("GET", path)
        items: list[JsonObject] = listing["items"] if code == 200 else []
        return items

    def _make_claim(self, volume: JsonObject) -> None:
        metadata, storage = volume["metadata"], volume["spec"]["storage"]
        name, namespace = metadata["name"], metadata["namespace"]
        owner = {key: volume[key] for key in ("apiVersion", "kind")} | {"name": name, "uid": metadata["uid"]}
        claim = {
            "metadata": {
                "name": name,
                "labels": metadata.get("labels"),
                "annotations": {**(metadata.get("annotations") or {}), **READY},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {"accessModes": ["ReadWriteOnce"], **storage},
        }
        self._plane.request("POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", claim)
        path = f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{namespace}/datavolumes/{name}/status"
        self._plane.request("PATCH", path, {"status": {"phase": "UploadReady"}}, **MERGE)

    def _annotate(self, namespace: str, name: str, marks: dict[str, str]) -> None:
        patch = {"metadata": {"annotations": marks}}
        self._plane.request("PATCH", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}", patch, **MERGE)


def _build_handler(cdi: FakeCdi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = self.path.split("?")[0] == f"/apis/{GROUP}/v1beta1"
            resource = {"name": "uploadtokenrequests", "kind": "UploadTokenRequest", "namespaced": True}
            listing = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1beta1"}
            listing["resources"] = [{**resource, "singularName": "", "verbs": ["create"]}]  # type: ignore[assignment]
            self._answer(200 if known else 404, json.dumps(listing).encode() if known else b"")

        def do_HEAD(self) -> None:
            asked = cdi.find_request(self.headers.get("Authorization", ""))
            self._answer(200 if self.path in UPLOADS and asked is not None else 401)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            tokens = TOKENS.fullmatch(self.path)
            asked = cdi.find_request(self.headers.get("Authorization", ""))
            if tokens:
                given = cdi.issue_token(self.headers.get("X-Remote-User", ""), tokens[1], json.loads(body))
                self._answer(201, json.dumps(given).encode())
            elif self.path in UPLOADS and asked is not None:
                cdi.write_upload(asked, self.path, body)
                self._answer(200)
            else:
                self._answer(401)

        def _answer(self, code: int, body: bytes = b"") -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ARG002 - as in http.server
            return

    return Handler


@contextlib.contextmanager
def run_fake_cdi(installation: Installation, find_claim: FindClaim) -> Iterator[FakeCdi]:
    """Run the fake CDI until the block ends, then remove its objects."""
    cdi, ending, authority = FakeCdi(installation, find_claim), threading.Event(), Authority.create(make_key(), "cdi")
    credential = authority.issue_server(["localhost", f"{SERVICE}.{SYSTEM}.svc"])
    with ThreadingHTTPServer(("127.0.0.1", 0), _build_handler(cdi)) as server:
        server.daemon_threads = True
        server.socket = build_context(credential.certificate, credential.key).wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        workers = [
            threading.Thread(target=server.serve_forever, args=(0.05,), name="cdi-api"),
            threading.Thread(target=_repeat, args=(cdi, ending), name="cdi-controller"),
        ]
        workers[0].start()
        try:
            objects = _install(installation, server.server_address[1], authority.pem.decode())
            workers[1].start()
            yield cdi
        finally:
            ending.set()
            if workers[1].is_alive():
                workers[1].join()
            with contextlib.suppress(UnboundLocalError):
                _remove(installation, objects)
            server.shutdown()
            workers[0].join()


def _install(installation: Installation, port: int, authority: str) -> list[JsonObject]:
    definitions = [one for one in build_definitions(Options(cdi=True)) if one["spec"]["group"] == "cdi.kubevirt.io"]
    installation.add(*definitions)
    wait_for_definitions(installation.kubectl, [one["metadata"]["name"] for one in definitions])
    config = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDIConfig", "metadata": {"name": "config"}, "spec": {}}
    reported = {"status": {"uploadProxyURL": f"localhost:{port}", "uploadProxyCA": authority}}
    path = "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs"
    retry(lambda: _expect(201, installation.plane.request("POST", path, config)))
    retry(lambda: _expect(200, installation.plane.request("PATCH", f"{path}/config/status", reported, **MERGE)))
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": SYSTEM},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    served = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1beta1.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": "v1beta1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "caBundle": b64encode(authority.encode()).decode(),
            "service": {"name": SERVICE, "namespace": SYSTEM, "port": port},
        },
    }
    installation.add(service, served)
    installation.kubectl("wait", "apiservice", f"v1beta1.{GROUP}", "--for=condition=Available", "--timeout=240s")
    discovery = f"/apis/{GROUP}/v1beta1"  # an APIService may be Available before it receives requests
    retry(lambda: _expect(200, installation.plane.request("GET", discovery)))
    return [served, service, *definitions]


def _expect(code: int, answer: tuple[int, JsonObject]) -> None:
    assert answer[0] == code, answer[1]


def _remove(installation: Installation, objects: list[JsonObject]) -> None:
    arguments = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    installation.kubectl("delete", "--ignore-not-found", "--timeout=240s", "-f", "-", stdin=arguments)


def _repeat(cdi: FakeCdi, ending: threading.Event) -> None:
    while not ending.wait(PAUSE):
        with contextlib.suppress(OSError, HTTPException, json.JSONDecodeError):  # the API server is busy
            cdi.sync()
