"""Options of the local ssh: proxy command and host name."""

import shlex

import pytest

from virtshape.cli.connection import Target
from virtshape.cli.guest.arguments import GuestRef
from virtshape.cli.guest.ssh import Options, build_proxy_command, format_host


def test_proxy_command_for_ssh_is_quoted() -> None:
    target = Target(kubeconfig="/my files/100%/config", context="a b")
    proxy = build_proxy_command(GuestRef("vm", "web", "team"), 2222, target, "/opt/my bin/virtctl")
    assert shlex.split(proxy.replace("%%", "%")) == [
        "/opt/my bin/virtctl",
        "port-forward",
        "--stdio=true",
        "--kubeconfig=/my files/100%/config",
        "--context=a b",
        "vm/web/team",
        "2222",
    ]


@pytest.mark.parametrize(
    ("place", "host"),
    [
        (GuestRef("vmi", "web", "team"), "vmi.web.team"),
        (GuestRef("vmi", "web", "team", "jdoe"), "jdoe@vmi.web.team"),
    ],
)
def test_ssh_host_is_formatted_from_the_target(place: GuestRef, host: str) -> None:
    assert format_host(place, Options(22, "", "", "", ())) == host
    assert format_host(place, Options(22, "root", "", "", ())) == (host if place.user else f"root@{host}")
