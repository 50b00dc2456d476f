"""Flags of `virtshape up`, and errors that prevent it from starting."""

import errno
from pathlib import Path
from typing import Any

import click
import pytest

from virtshape.cli.datadir import default_directory, name_flag
from virtshape.cli.up import command, refuse_address


def test_server_listens_on_loopback_by_default() -> None:
    (listen,) = [option for option in command.params if option.name == "listen"]
    assert listen.get_default(click.Context(command)) == "127.0.0.1:6443"


def test_unavailable_listen_address_is_reported_with_advice() -> None:
    refusal = refuse_address(OSError(errno.EADDRINUSE, "whatever"), "127.0.0.1", 6443)
    assert refusal.message == "cannot listen on 127.0.0.1:6443: Address already in use"
    assert "--listen 127.0.0.1:0" in str(refusal.next_step)
    unknown = refuse_address(OSError("name not known"), "nowhere", 1)
    assert unknown.message == "cannot listen on nowhere:1: name not known"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/me"}, "/state/virtshape"),
        ({"XDG_STATE_HOME": "state", "HOME": "/home/me"}, "/home/me/.local/state/virtshape"),
        ({"HOME": "/home/me"}, "/home/me/.local/state/virtshape"),
    ],
    ids=["absolute", "relative", "unset"],
)
def test_data_directory_follows_the_xdg_specification(
    environment: dict[str, str], expected: str, monkeypatch: Any
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert default_directory() == Path(expected)
    assert name_flag(Path(expected)) == ""
    assert name_flag(Path("/other")) == " --data-dir /other"
