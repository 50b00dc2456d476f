"""Removal of unused tap devices."""

import errno
import socket
import struct
from pathlib import Path
from typing import Self

import pytest

from virtshape.launcher.node import taps


class FakeKernel:
    """A fake kernel that records requests and answers them with an error code."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.asked: list[bytes] = []

    def __call__(self, family: int, kind: int) -> "FakeKernel":
        assert (family, kind) == (socket.AF_NETLINK, socket.SOCK_RAW)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, request: bytes) -> None:
        self.asked.append(request)

    def recv(self, size: int) -> bytes:
        return (struct.pack("=IHHII", 36, 2, 0, 0, 0) + struct.pack("=i", -self.code)).ljust(size, b"\0")


ANSWERS = {
    "done": (0, []),
    "already removed": (errno.ENODEV, []),
    "not allowed": (
        errno.EPERM,
        ["removing unused tap device vs1 failed: Operation not permitted; remove it with `ip link delete`"],
    ),
}


@pytest.mark.parametrize(("code", "message"), ANSWERS.values(), ids=ANSWERS)
def test_only_a_failed_removal_of_a_tap_device_is_logged(
    code: int, message: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vs1").mkdir()
    (tmp_path / "vs1" / "tun_flags").touch()
    kernel = FakeKernel(code)
    monkeypatch.setattr(taps, "NETWORKS", tmp_path)
    monkeypatch.setattr(socket, "socket", kernel)
    monkeypatch.setattr(socket, "if_nametoindex", lambda _: 7)
    taps.remove_tap("vs1")
    taps.remove_tap("vs2")
    assert len(kernel.asked) == 1
    assert caplog.messages == message
