"""Uploads with the same requests as KubeVirt's virtctl; tests can interrupt them."""

import contextlib
import http.client
import ssl
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.support.upprocess import System, wait_until

from virtshape.api.model import JsonObject

CDI = "cdi.kubevirt.io/storage"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
TOKENS = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/default/uploadtokenrequests"
ASYNC = "/v1alpha1/upload-async"
SYNC = "/v1alpha1/upload"


class ProxyResponse(NamedTuple):
    """A response of the upload proxy."""

    status: int
    message: str


def build_claim(name: str, size: str = "8Mi", **annotations: str) -> JsonObject:
    """Build a claim that waits for an upload, as virtctl does."""
    marks = {f"{CDI}.upload.target": "", f"{CDI}.contentType": "kubevirt", **annotations}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "creationTimestamp": None, "annotations": marks},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        "status": {},
    }


def build_volume(name: str, size: str | None = "8Mi", **spec: Any) -> JsonObject:
    """Build a DataVolume that waits for an upload, as virtctl does."""
    storage = {"resources": {"requests": {"storage": size}}} if size else {}
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": name, "creationTimestamp": None},
        "spec": {"source": {"upload": {}}, "contentType": "kubevirt", "storage": storage, **spec},
        "status": {},
    }


class Uploader:
    """Uploads to one server as its admin."""

    def __init__(self, system: System) -> None:
        self.system = system

    def create(self, tree: JsonObject) -> None:
        """Create a claim or DataVolume."""
        code, answer = self.system.request("POST", CLAIMS if tree["apiVersion"] == "v1" else VOLUMES, tree)
        assert code == 201, answer

    def claim(self, name: str) -> JsonObject:
        """Return a claim."""
        code, tree = self.system.request("GET", f"{CLAIMS}/{name}")
        assert code == 200, tree
        found: JsonObject = tree
        return found

    def annotation(self, name: str, key: str) -> str | None:
        """Return an annotation of a claim."""
        code, tree = self.system.request("GET", f"{CLAIMS}/{name}")
        return (tree["metadata"].get("annotations") or {}).get(f"{CDI}.{key}") if code == 200 else None

    def wait_until_ready(self, name: str) -> None:
        """Wait until a claim is ready for an upload, as virtctl does."""
        wait_until(lambda: self.annotation(name, "pod.ready") == "true", f"{name} is not ready for an upload")

    def wait_until_filled(self, name: str) -> None:
        """Wait until an upload is processed, as virtctl does."""
        wait_until(lambda: self.annotation(name, "pod.phase") == "Succeeded", f"the upload to {name} was not processed")

    def request_token(self, name: str, **headers: str) -> tuple[int, JsonObject]:
        """Request a token and return the response."""
        body = {
            "kind": "UploadTokenRequest",
            "apiVersion": "upload.cdi.kubevirt.io/v1beta1",
            "metadata": {"name": "token-for-virtctl", "creationTimestamp": None},
            "spec": {"pvcName": name},
            "status": {},
        }
        return self.system.request("POST", TOKENS, body, **headers)

    def get_token(self, name: str) -> str:
        """Return a token for a claim."""
        code, answer = self.request_token(name)
        assert code == 201, answer
        token: str = answer["status"]["token"]
        return token

    def send(
        self, token: str, body: bytes | Iterable[bytes] = b"", path: str = ASYNC, method: str = "POST", **headers: str
    ) -> ProxyResponse:
        """Send a body to the proxy; a list is sent in chunks."""
        given = {"Content-Type": "application/octet-stream"} | headers
        if token:
            given["Authorization"] = f"Bearer {token}"
        with contextlib.closing(self.system.connect()) as connection:
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError, ssl.SSLEOFError
            ):  # the server may reject a request before its end
                connection.request(method, path, body if method == "POST" else None, given)
            answer = connection.getresponse()
            return ProxyResponse(answer.status, answer.read().decode())

    def begin(self, token: str, length: int) -> http.client.HTTPSConnection:
        """Start a request with this content length; the test sends the body."""
        connection = self.system.connect()
        connection.putrequest("POST", ASYNC)
        for name, value in {"Authorization": f"Bearer {token}", "Content-Length": str(length)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection

    def wait_until_arriving(self) -> None:
        """Wait until the server has received part of an upload."""
        wait_until(lambda: any(self._list_sizes()), "the server has received no data of the upload")

    def wait_until_empty(self) -> None:
        """Wait until the server has removed all upload files."""
        wait_until(lambda: not self._list_sizes(), "upload files were not removed")

    def _list_sizes(self) -> list[int]:
        sizes = []
        for path in (self.system.directory / "uploads").glob("*"):
            with contextlib.suppress(FileNotFoundError):  # the file was deleted after it was listed
                sizes.append(path.stat().st_size)
        return sizes

    def read_disk(self, name: str) -> bytes:
        """Return the content of a claim's disk."""
        volume: str = self.claim(name)["spec"]["volumeName"]
        return (self.system.directory / "volumes" / volume / "disk.img").read_bytes()

    def audit(self, name: str) -> list[JsonObject]:
        """Return the audit entries of uploads to a claim."""
        found = [line for line in self.system.read_audit_log() if line.get("subresource") == "upload"]
        return [line for line in found if line["name"] == name]
