"""Logs that a guest writes, as the server reads them."""

from pathlib import Path

import pytest

from virtshape.launcher.node import guest_state
from virtshape.launcher.node.guest_state import read_tail


def test_a_log_that_a_guest_has_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the machine")
    (tmp_path / "serial0.log").symlink_to(tmp_path / "secret")
    assert read_tail(tmp_path / "serial0.log") == b""


def test_of_a_log_that_a_guest_has_flooded_only_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_state, "MAX_LOG_BYTES", 4)
    (tmp_path / "serial0.log").write_text("0123456789")
    assert read_tail(tmp_path / "serial0.log") == b"6789"


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "serial0.log") == b""
