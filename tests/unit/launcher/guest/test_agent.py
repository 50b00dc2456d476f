from virtshape.launcher.controlprotocol import Filesystem, User
from virtshape.launcher.guest.agent import (
    MAX_ITEMS,
    MAX_TEXT_LENGTH,
    join_interfaces,
    read_filesystems,
    read_interfaces,
    read_os,
    read_users,
)
from virtshape.launcher.report import GuestOs, Interface


def test_operating_system_reported_by_the_agent_is_parsed() -> None:
    info = {
        "os.id": "debian",
        "os.name": "Debian GNU/Linux",
        "os.pretty-name": "Debian GNU/Linux 12 (bookworm)",
        "os.version": "12 (bookworm)",
        "os.version-id": "12",
        "os.kernel-release": "6.1.0",
        "os.kernel-version": "#1 SMP",
        "os.machine": "x86_64",
        "hostname": "web",
        "timezone.name": "UTC",
        "timezone.offset": 0,
    }
    assert read_os(info) == GuestOs(
        id="debian",
        name="Debian GNU/Linux",
        pretty_name="Debian GNU/Linux 12 (bookworm)",
        version="12 (bookworm)",
        version_id="12",
        kernel_release="6.1.0",
        kernel_version="#1 SMP",
        machine="x86_64",
        hostname="web",
        timezone="UTC",
    )


def test_invalid_agent_data_is_ignored() -> None:
    assert read_os({"os.id": 7, "hostname": None}) == GuestOs()
    assert read_users({"user.count": "many"}) == ()
    assert len(read_filesystems({"fs.count": 10**9})) == MAX_ITEMS


def test_users_and_filesystems_reported_by_the_agent_are_parsed() -> None:
    assert read_users({"user.count": 1, "user.0.name": "eva", "user.0.login-time": 1500}) == (
        User(name="eva", login_time=1.5),
    )
    info = {
        "fs.count": 1,
        "fs.0.name": "vda1",
        "fs.0.mountpoint": "/",
        "fs.0.fstype": "ext4",
        "fs.0.total-bytes": 2000,
        "fs.0.used-bytes": 1000,
        "fs.0.disk.count": 1,
        "fs.0.disk.0.alias": "vda",
        "fs.0.disk.0.device": "/dev/vda1",
    }
    assert read_filesystems(info) == (
        Filesystem(
            name="vda1",
            mount_point="/",
            type="ext4",
            total=2000,
            used=1000,
            disks=({"device": "/dev/vda1", "target": "vda"},),
        ),
    )


def test_interfaces_reported_by_the_agent_are_matched_by_mac_address() -> None:
    info = read_interfaces(
        {
            "if.count": 3,
            "if.0.name": "lo",
            "if.0.hwaddr": "00:00:00:00:00:00",
            "if.1.name": "eth0",
            "if.1.hwaddr": "52:54:00:AA:BB:CC",
            "if.1.addr.count": 2,
            "if.1.addr.0.addr": "10.0.2.15",
            "if.1.addr.1.addr": "fe80::1",
            "if.2.name": "docker0",
            "if.2.hwaddr": "02:42:00:00:00:01",
        }
    )
    known = [Interface(name="default", mac="52:54:00:aa:bb:cc", addresses=("10.0.2.15",)), Interface(name="other")]
    assert join_interfaces(known, info) == (
        Interface(
            name="default",
            guest_name="eth0",
            mac="52:54:00:aa:bb:cc",
            addresses=("10.0.2.15", "fe80::1"),
            from_agent=True,
        ),
        Interface(name="other"),
        Interface(guest_name="docker0", mac="02:42:00:00:00:01", from_agent=True),
    )


def test_long_texts_and_lists_of_the_agent_are_truncated() -> None:
    info = {"user.count": 10_000_000} | {f"user.{number}.name": "x" * 5000 for number in range(300)}
    users = read_users(info)
    assert (len(users), len(users[0].name)) == (MAX_ITEMS, MAX_TEXT_LENGTH)
