import os
import stat
from pathlib import Path

import pytest
from tests.support.guests import build_guest

from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.node.access import grant_access, list_external_paths, revoke_access
from virtshape.launcher.node.account import GUEST_USER, Account
from virtshape.launcher.node.acl import parse_acl

GUEST = Account(GUEST_USER, GUEST_USER)
OTHER = Account(GUEST_USER + 1, GUEST_USER + 1)
VOLUMES = [
    {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}},
    {"name": "image", "containerDisk": {"image": "image"}},
    {"name": "host", "hostDisk": {"path": "/srv/disks/x.img", "type": "Disk"}},
]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of files")


def describe(path: Path) -> tuple[int, int, str]:
    found = path.lstat()
    return found.st_uid, found.st_gid, oct(stat.S_IMODE(found.st_mode))


def list_users(path: Path) -> list[int]:
    """Return the user IDs in a file's ACL."""
    try:
        entries = parse_acl(os.getxattr(path, "system.posix_acl_access"))
    except OSError:
        return []
    return [user for tag, user in entries if tag == 2]


@needs_root
def test_guest_owns_its_files_and_gets_acls_for_shared_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("claim", "image", "state"):
        (data / name).mkdir(parents=True)
    disk, image, state = data / "claim" / "disk.img", data / "image" / "disk.qcow2", data / "state" / "vars.fd"
    outside, hard, soft = tmp_path / "outside.img", data / "claim" / "hard", data / "claim" / "soft"
    for path in (disk, image, state, outside):
        path.touch(0o600)
    hard.hardlink_to(outside)
    soft.symlink_to(outside)
    launch_request = LaunchRequest(
        vmi=build_guest("uid", volumes=VOLUMES),
        mounts={"claim": str(data / "claim"), "image": str(image), "outside": str(outside)},
        state_directory=str(data / "state"),
    )
    grant_access(launch_request, data, GUEST)
    assert describe(disk) == describe(state) == (GUEST_USER, GUEST_USER, "0o600")
    assert describe(image) == (0, 0, "0o604")
    assert describe(outside) == (0, 0, "0o600")
    assert describe(soft)[0] == 0


@needs_root
def test_symlink_in_place_of_the_image_of_a_claim_grants_no_access_to_its_target(tmp_path: Path) -> None:
    data = tmp_path / "data"
    image, key = data / "volumes" / "claim" / "disk.img", data / "pki" / "ca.key"
    for path in (image, key):
        path.parent.mkdir(parents=True)
    key.touch(0o600)
    image.symlink_to(key)
    for name in ("claim", "image"):
        request = LaunchRequest(vmi=build_guest("uid", volumes=VOLUMES), mounts={name: str(image)})
        grant_access(request, data, GUEST)
        assert describe(key) == (0, 0, "0o600")


def test_guest_of_the_same_user_needs_no_acl(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.touch(0o600)
    before = image.stat()
    grant_access(
        LaunchRequest(vmi=build_guest("uid"), mounts={"image": str(image)}),
        tmp_path,
        Account(os.geteuid(), os.getegid()),
    )
    assert image.stat() == before


@needs_root
def test_acl_grants_a_guest_access_to_a_host_disk_without_a_change_of_owner(tmp_path: Path) -> None:
    names = ("closed", "open", "hard", "other")
    closed, opened, hard, other = files = [tmp_path / f"{name}.img" for name in names]
    for path, mode in zip(files, (0o600, 0o666, 0o600, 0o600), strict=True):
        path.touch(mode)
        path.chmod(mode)
    (tmp_path / "second name").hardlink_to(hard)
    disks = [{"name": name, "hostDisk": {"path": f"/{name}", "type": "Disk"}} for name in names[:3]]
    mounts = {name: str(path) for name, path in zip(names, files, strict=True)}
    launch_request = LaunchRequest(vmi=build_guest("uid", volumes=disks), mounts=mounts)
    grant_access(launch_request, tmp_path / "data", GUEST)
    assert describe(closed)[:2] == (0, 0)
    assert list_users(closed) == [GUEST_USER]
    assert describe(opened) == (0, 0, "0o666")
    assert describe(hard) == describe(other) == (0, 0, "0o600")
    revoke_access(launch_request, tmp_path / "data", GUEST)
    assert list_users(closed) == []


@needs_root
def test_claim_shared_by_two_guests_is_accessible_until_each_is_removed(tmp_path: Path) -> None:
    disk = tmp_path / "claim" / "disk.img"
    disk.parent.mkdir()
    disk.touch(0o600)
    launch_request = LaunchRequest(vmi=build_guest("uid", volumes=VOLUMES), mounts={"claim": str(disk.parent)})
    grant_access(launch_request, tmp_path, GUEST)
    grant_access(launch_request, tmp_path, OTHER, {GUEST.user})
    assert (describe(disk)[0], list_users(disk)) == (GUEST.user, [OTHER.user])
    revoke_access(launch_request, tmp_path, GUEST)
    assert (describe(disk)[0], list_users(disk)) == (0, [OTHER.user])
    revoke_access(launch_request, tmp_path, OTHER)
    assert (describe(disk)[0], list_users(disk)) == (0, [])


def test_external_paths_of_a_guest_are_its_volumes_and_its_state_directory() -> None:
    mounts = {"claim": "/data/claim", "host": "/srv/disks/x.img"}
    complete = LaunchRequest(vmi=build_guest("uid", volumes=VOLUMES), mounts=mounts, state_directory="/data/state")
    without = LaunchRequest(vmi=build_guest("uid"), host_disk_roots=("/srv/disks",))
    assert (list_external_paths(complete), list_external_paths(without)) == (
        ["/data/claim", "/srv/disks/x.img", "/data/state"],
        [],
    )
