"""Commands in pods: their output is read up to a limit."""

from typing import Any

import pytest

from virtshape.api.status import StatusError
from virtshape.cluster.podexec import MAX_OUTPUT_BYTES, run_command

MIB = 1 << 20
SUCCESS = b'\x03{"status":"Success"}'


class FakePod:
    """A pod whose command prints these chunks; replaces both the transport and the WebSocket."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [*(b"\x01" + piece for piece in pieces), SUCCESS, b""]
        self.closed = False

    async def open_socket(self, *_: Any, **__: Any) -> "FakePod":
        return self

    async def read(self) -> bytes:
        return self._pieces.pop(0)

    async def close(self) -> None:
        self.closed = True


async def run(pod: Any) -> bytes:
    return await run_command(pod, "default", "pod", "compute", ["true"])


async def test_output_of_a_pod_command_is_returned_up_to_the_limit() -> None:
    pod = FakePod(*[b"x" * MIB] * (MAX_OUTPUT_BYTES // MIB))
    assert len(await run(pod)) == MAX_OUTPUT_BYTES
    assert pod.closed


async def test_output_of_a_pod_command_beyond_the_limit_is_an_error() -> None:
    pod = FakePod(*[b"x" * MIB] * (MAX_OUTPUT_BYTES // MIB), b"x")
    with pytest.raises(StatusError, match=f"sent more than {MAX_OUTPUT_BYTES} bytes") as refused:
        await run(pod)
    assert (refused.value.code, pod.closed) == (502, True)
