"""Users with the role edit in one namespace, for tests of attacks on a running server."""

import contextlib
import json
import ssl
from typing import Any, NamedTuple

import yaml
from tests.support.upprocess import System, call_virtshape, wait_until

from virtshape.api.model import JsonObject

CDI = "cdi.kubevirt.io/storage"


class Answer(NamedTuple):
    """A status code and a body."""

    code: int
    text: str


class Tenant:
    """A user with the role edit in one namespace only."""

    def __init__(self, system: System, namespace: str) -> None:
        self.system = system
        self.namespace = namespace
        code, answer = system.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        assert code == 201, answer
        result = call_virtshape(
            *("user", "add", f"{namespace}-user", "--namespace", namespace, "--role", "edit", "--token"),
            *("--data-dir", system.directory),
        )
        assert result.returncode == 0, result.stderr
        self.token: str = yaml.safe_load(result.stdout)["users"][0]["user"]["token"]

    @property
    def claims(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims"

    @property
    def volumes(self) -> str:
        return f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{self.namespace}/datavolumes"

    def request(self, method: str, path: str, tree: object = None, **headers: str) -> tuple[int, Any]:
        """Send a request as this user."""
        return self.system.request(method, path, tree, Authorization=f"Bearer {self.token}", **headers)

    def create(self, tree: JsonObject) -> JsonObject:
        """Create a claim or DataVolume."""
        code, answer = self.request("POST", self.claims if tree["apiVersion"] == "v1" else self.volumes, tree)
        assert code == 201, answer
        created: JsonObject = answer
        return created

    def get(self, path: str) -> JsonObject:
        code, answer = self.request("GET", path)
        assert code == 200, answer
        found: JsonObject = answer
        return found

    def wait_for_phase(self, name: str, *phases: str) -> JsonObject:
        """Wait until a DataVolume is in one of these phases, and return it."""

        def probe() -> JsonObject | None:
            found = self.get(f"{self.volumes}/{name}")
            return found if found.get("status", {}).get("phase") in phases else None

        return wait_until(probe, lambda: json.dumps(self.get(f"{self.volumes}/{name}"))) or {}

    def wait_until_ready(self, name: str) -> None:
        """Wait until a claim is ready for an upload."""
        marks = f"{CDI}.pod.ready"
        wait_until(
            lambda: self.get(f"{self.claims}/{name}")["metadata"].get("annotations", {}).get(marks) == "true",
            f"{name} is not ready for an upload",
        )

    def request_token(self, name: str) -> tuple[int, Any]:
        """Request an upload token."""
        body = {
            "apiVersion": "upload.cdi.kubevirt.io/v1beta1",
            "kind": "UploadTokenRequest",
            "metadata": {"name": "token"},
            "spec": {"pvcName": name},
        }
        return self.request(
            "POST", f"/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/{self.namespace}/uploadtokenrequests", body
        )

    def upload(self, name: str, body: bytes, path: str = "/v1beta1/upload") -> Answer:
        """Upload data to a claim; return the response, or the response to the token request if that fails."""
        code, answer = self.request_token(name)
        if code != 201:
            return Answer(code, json.dumps(answer))
        headers = {"Authorization": f"Bearer {answer['status']['token']}", "Content-Type": "application/octet-stream"}
        with contextlib.closing(self.system.connect()) as connection:
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError, ssl.SSLEOFError
            ):  # the server may reject a request before its end
                connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode())


def read_message(volume: JsonObject) -> str:
    """Return the message of a DataVolume's Running condition."""
    conditions = volume.get("status", {}).get("conditions", [])
    return next((one.get("message", "") for one in conditions if one["type"] == "Running"), "")
