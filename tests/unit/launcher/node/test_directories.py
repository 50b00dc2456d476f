import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.launcher.layout import is_short_enough
from virtshape.launcher.node.account import DEFAULT_USERS, Account, choose_account
from virtshape.launcher.node.directories import DirectoryError, GuestDirectories

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of files")
UID = "b7f1a0de-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for short links that only these tests use."""
    with tempfile.TemporaryDirectory(prefix="short-") as name:
        monkeypatch.setattr("virtshape.launcher.node.directories.get_short_root", lambda: Path(name))
        yield Path(name)


@pytest.fixture
def places(tmp_path: Path) -> GuestDirectories:
    return GuestDirectories(tmp_path / "data", Account(os.geteuid(), os.getegid()))


def test_guest_directory_is_listed_until_it_is_removed(places: GuestDirectories) -> None:
    assert places.list_guests() == []
    layout = places.make(UID)
    assert places.make(UID) == places.get_layout(UID) == layout
    assert places.list_guests() == [UID]
    assert stat.S_IMODE((places.data / "guests" / UID).stat().st_mode) == 0o700
    places.remove(UID)
    assert places.list_guests() == []
    assert not layout.directory.is_symlink()


def test_path_of_a_guest_is_short_enough_for_sockets(tmp_path: Path) -> None:
    places = GuestDirectories(tmp_path / ("long" * 20), Account(os.geteuid(), os.getegid()))
    layout = places.make(UID)
    assert is_short_enough(layout.directory)
    assert layout.directory.resolve() == (places.data / "guests" / UID).resolve()
    assert GuestDirectories(places.data, places.account).get_layout(UID) == layout


def test_short_link_with_a_wrong_target_is_corrected(tmp_path: Path) -> None:
    places = GuestDirectories(tmp_path / ("long" * 20), Account(os.geteuid(), os.getegid()))
    layout = places.make(UID)
    layout.directory.unlink()
    layout.directory.symlink_to(tmp_path)
    assert places.make(UID).directory.resolve() == (places.data / "guests" / UID).resolve()


def test_file_of_a_guest_is_replaced_atomically(places: GuestDirectories) -> None:
    layout = places.make(UID)
    for content in (b"one", b"two"):
        places.write(layout.launch_request, content)
    assert layout.launch_request.read_bytes() == b"two"
    assert stat.S_IMODE(layout.launch_request.stat().st_mode) == 0o640


@needs_root
def test_guest_can_add_files_to_its_directory_but_not_replace_files_of_its_supervisor(tmp_path: Path) -> None:
    places = GuestDirectories(tmp_path, choose_account())
    layout = places.make(UID)
    places.write(layout.launch_request, b"{}")
    directory, user = layout.directory.stat(), places.get_account(UID).user
    assert user in DEFAULT_USERS
    assert (directory.st_uid, directory.st_gid, stat.S_IMODE(directory.st_mode)) == (0, user, 0o1770)
    assert (layout.launch_request.stat().st_uid, layout.launch_request.stat().st_gid) == (0, user)
    assert layout.libvirt.stat().st_uid == user


@needs_root
def test_each_guest_has_its_own_user_until_the_guest_is_removed(tmp_path: Path) -> None:
    places, users = GuestDirectories(tmp_path, choose_account()), range(60600, 60602)
    for name in ("one", "two"):
        places.make(name, users)
    assert {places.get_account(name).user for name in ("one", "two")} == set(users)
    with pytest.raises(DirectoryError, match="all users for guests are taken"):
        places.make("three", users)
    again = GuestDirectories(tmp_path, choose_account())  # simulates a restart of the server
    assert again.get_account("one") == places.get_account("one")
    freed = places.get_account("one").user
    again.remove("one")
    again.make("three", users)
    assert again.get_account("three").user == freed


@needs_root
def test_guest_gets_a_copy_of_the_cached_qemu_capabilities(tmp_path: Path) -> None:
    places = GuestDirectories(tmp_path, choose_account())
    known = places.libvirt_cache / "qemu" / "capabilities" / "one.xml"
    known.parent.mkdir(parents=True)
    known.write_text("<qemuCaps/>")
    layout = places.make(UID)
    copy = layout.cache / "qemu" / "capabilities" / "one.xml"
    assert (copy.read_text(), copy.stat().st_uid) == ("<qemuCaps/>", places.get_account(UID).user)
    assert known.stat().st_uid == 0


@pytest.mark.parametrize("uid", ["", ".", "..", "../state", "/etc", "a/b"])
def test_guest_uid_with_a_path_traversal_is_refused(places: GuestDirectories, uid: str) -> None:
    with pytest.raises(DirectoryError, match="it cannot be the name of a directory"):
        places.make(uid)


def test_dangling_short_links_are_removed(places: GuestDirectories, short: Path) -> None:
    layout = places.make(UID)
    (short / "gone").symlink_to(short / "nowhere")
    places.remove_dangling_links()
    assert [one.name for one in short.iterdir()] == [layout.directory.name]


def test_directory_for_short_links_of_another_user_is_refused(tmp_path: Path, short: Path) -> None:
    short.chmod(0o777)
    places = GuestDirectories(tmp_path / ("long" * 20), Account(os.geteuid(), os.getegid()))
    with pytest.raises(DirectoryError, match="is owned by another user or writable by others"):
        places.make(UID)
