"""Guests that run without a server: how they are listed, and stopped through their launchers."""

from pathlib import Path

import msgspec
import pytest
from tests.support.launchers import run_fake_launcher

from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.standalone.guests import stopguests
from virtshape.standalone.guests.stopguests import count_guests, list_running_guests, name_guests, stop_guests


@pytest.fixture
def places(tmp_path: Path) -> GuestDirectories:
    return GuestDirectories(tmp_path / "data", choose_account())


def test_empty_data_directory_has_no_running_guests(tmp_path: Path) -> None:
    assert list_running_guests(tmp_path) == []
    assert list_running_guests(tmp_path / "missing") == []


def test_only_guests_with_live_processes_are_listed(places: GuestDirectories) -> None:
    with run_fake_launcher(places, "b"), run_fake_launcher(places, "a"):
        guests = list_running_guests(places.data)
        assert name_guests(guests) == "default/a, default/b"
        assert count_guests(guests) == "2 guests"
        assert [guest.grace_seconds for guest in guests] == [7, 7]
    assert list_running_guests(places.data) == []


async def test_stopping_guests_requests_a_shutdown_with_the_grace_period(places: GuestDirectories) -> None:
    with run_fake_launcher(places, "a", grace=9) as process:
        assert await stop_guests(list_running_guests(places.data)) == []
        assert process.wait(10) == 0
        assert process.stdout is not None
        assert msgspec.json.decode(process.stdout.readline()) == {"ask": "stop", "grace": 9.0}


async def test_guest_that_does_not_shut_down_is_killed(
    places: GuestDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopguests, "MARGIN_SECONDS", 0.5)
    with run_fake_launcher(places, "stubborn", behaviour="ignores", grace=0) as process:
        killed = await stop_guests(list_running_guests(places.data))
        assert name_guests(killed) == "default/stubborn"
        assert process.wait(10) == -9


def test_long_lists_of_guests_are_shortened(places: GuestDirectories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopguests, "_MAX_NAMED", 1)
    with run_fake_launcher(places, "a"), run_fake_launcher(places, "b"), run_fake_launcher(places, "c"):
        assert name_guests(list_running_guests(places.data)) == "default/a and 2 more"
