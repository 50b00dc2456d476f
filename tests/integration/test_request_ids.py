"""IDs of requests: in responses, log lines, errors and the audit log."""

import http.client
import json
import logging
import re

import pytest
from tests.integration.objects import NamespacePaths, build_config
from tests.support.loopback import Client, LoopbackServer

from virtshape.apiserver.message import Request
from virtshape.daemon.logs import find_context

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def read_ids(server: LoopbackServer, name: str) -> list[str]:
    lines = server.system.directory.kubeconfig.with_name("audit.log").read_text().splitlines()
    return [entry["auditId"] for entry in map(json.loads, lines) if entry.get("name") == name]


def test_every_response_has_an_id(client: Client, paths: NamespacePaths) -> None:
    targets = ("/version", "/api/v1", paths.core("configmaps"), paths.core("configmaps", "missing"), "/made-up")
    found = [client.get(target).headers["audit-id"] for target in targets]
    assert len(set(found)) == len(found)
    assert all(UUID.fullmatch(text) for text in found)


def test_id_of_the_client_is_in_the_response_and_in_the_audit_log(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    name = f"named-{paths.namespace}"
    reply = client.send("POST", paths.core("configmaps"), build_config(name), headers={"Audit-ID": "deploy-17"})
    assert (reply.status, reply.headers["audit-id"]) == (201, "deploy-17")
    assert read_ids(server, name) == ["deploy-17"]


def test_watch_and_malformed_request_have_an_id(client: Client, paths: NamespacePaths, server: LoopbackServer) -> None:
    with client.watch(paths.core("configmaps")) as stream:
        assert UUID.fullmatch(stream.response.headers["audit-id"])
    broken = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        broken.putrequest("GET", "/version", skip_host=True)
        broken.putheader("Content-Length", "1e9")
        broken.endheaders()
        assert UUID.fullmatch(broken.getresponse().headers["audit-id"])
    finally:
        broken.close()


def test_internal_error_has_the_request_id_of_its_log_line(
    server: LoopbackServer,
    client: Client,
    paths: NamespacePaths,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    contexts: list[dict[str, str]] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            contexts.append(find_context(record))

    def fail(request: Request, *_: object) -> None:
        raise RuntimeError(request.path)

    async def fail_later(request: Request, *_: object) -> None:
        fail(request)

    log = logging.getLogger("virtshape.apiserver.http")
    recorder = Recorder()
    log.addHandler(recorder)
    try:
        monkeypatch.setattr(server.system.server, "_read", fail)
        monkeypatch.setattr(server.system.server, "_answer_write", fail_later)
        replies = [client.get(paths.core("configmaps", "a")), client.post(paths.core("configmaps"), build_config("a"))]
    finally:
        log.removeHandler(recorder)
    caplog.clear()
    for reply, context in zip(replies, contexts, strict=True):
        assert reply.reason == (500, "InternalError")
        assert reply.headers["audit-id"] in reply.tree["message"]
        assert context["request_id"] == reply.headers["audit-id"]
        assert context["error"].startswith("/api/v1/namespaces")
    assert contexts[0]["object"] == f"{paths.namespace}/a"
