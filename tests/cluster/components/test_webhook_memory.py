"""Memory of the running webhook while clients send large or many requests."""

import contextlib
import json
import os
import signal
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_connection

import pytest
from tests.cluster.components.installation import HOST, TIMEOUT, ComponentProcess, Installation
from tests.e2e.memory import measure_process_growth, send_until_blocked
from tests.support.memory import MIB

from virtshape.cluster.manifests import naming
from virtshape.cluster.webhook.handler import MAX_REVIEW_BYTES

POD_LIMIT_MIB = 1024
"""Memory limit of the webhook's pod."""


@contextlib.contextmanager
def connect(installation: Installation) -> Iterator[ssl.SSLSocket]:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with (
        create_connection((HOST, installation.https["webhook"]), timeout=TIMEOUT) as plain,
        trust.wrap_socket(plain) as connection,
    ):
        yield connection


def build_review(padding: str = "{}") -> bytes:
    """Return an AdmissionReview of a VM whose instance type the webhook has to look up."""
    managed = {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": "PADDING"}}
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm1", "managedFields": [managed]},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "none"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }
    request = {
        "uid": "1",
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
        "namespace": "default",
        "name": "vm1",
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": vm,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).replace('"PADDING"', padding).encode()


def format_request(body: bytes, *headers: bytes) -> bytes:
    lines = [
        b"POST %b?timeout=10s HTTP/1.1" % naming.VALIDATE_PATH.encode(),
        b"host: x",
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join([*lines, b"", body])


def read_all(connection: ssl.SSLSocket) -> bytes:
    data = bytearray()
    while piece := connection.recv(64 * 1024):
        data += piece
    return bytes(data)


@pytest.fixture
def worker(installation: Installation, webhook: ComponentProcess) -> Iterator[ComponentProcess]:
    """The running webhook, which must still respond after the test."""
    yield webhook
    with connect(installation) as connection:
        connection.sendall(format_request(build_review(), b"connection: close"))
        assert read_all(connection).startswith(b"HTTP/1.1 200 OK")


@contextlib.contextmanager
def suspend_apiserver(installation: Installation) -> Iterator[None]:
    """Suspend the API server, so that reviews that need an object from it stay in memory."""
    pid = installation.plane.apiserver.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_concurrent_large_reviews_stay_below_the_memory_limit_of_the_pod(
    installation: Installation, worker: ComponentProcess
) -> None:
    values = (MAX_REVIEW_BYTES - len(build_review())) // 3
    request = format_request(build_review(f"[{','.join(['{}'] * values)}]"), b"connection: close")

    def send(_: int) -> bytes:
        with connect(installation) as connection:
            connection.sendall(request)
            return read_all(connection).split(b"\r\n")[0]

    with measure_process_growth(worker.pid) as growth, ThreadPoolExecutor(8) as pool:
        with suspend_apiserver(installation):
            answers = [pool.submit(send, number) for number in range(8)]
            wait_until_idle(worker.pid)
        assert {answer.result() for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert growth.mib < POD_LIMIT_MIB * 3 / 4


def wait_until_idle(pid: int) -> None:
    """Wait until a process has used almost no CPU time for three seconds."""
    used, since = -1.0, time.monotonic()
    while time.monotonic() - since < 3.0:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        now = float(fields[11]) + float(fields[12])
        if now > used + 5:  # allow 5 clock ticks, because timers use some CPU time
            used, since = now, time.monotonic()
        time.sleep(0.1)


def test_pipelined_reviews_wait_while_their_responses_are_not_read(
    installation: Installation, worker: ComponentProcess
) -> None:
    request = format_request(build_review())
    with connect(installation) as connection, measure_process_growth(worker.pid) as growth:
        sent = send_until_blocked(connection, request * (32 * MIB // len(request)))
        wait_until_idle(worker.pid)
    assert sent < 16 * MIB
    assert growth.mib < 24
