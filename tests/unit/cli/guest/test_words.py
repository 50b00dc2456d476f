"""What words on the command line mean: guests, ports, viewers, and what ssh is told."""

import shlex
import stat
from pathlib import Path

import click
import pytest

from virtshape.cli.connection import Target
from virtshape.cli.errors import NotUnderstood
from virtshape.cli.guest.instance import complete_kind, complete_place, read_instance, read_kind
from virtshape.cli.guest.place import Place, parse_place
from virtshape.cli.guest.ports import Port, parse_port
from virtshape.cli.guest.sshoptions import Options, build_proxy, name_host
from virtshape.cli.guest.viewers import Viewer, find_viewer

PLACES = {
    "vmi/web": Place("vmi", "web"),
    "VMs/web": Place("vm", "web"),
    "virtualmachineinstance/web/team": Place("vmi", "web", "team"),
    "vm/web.team": Place("vm", "web", "team"),
    "vm/web.prod.team": Place("vm", "web.prod", "team"),
    "vm/web.prod/team": Place("vm", "web.prod", "team"),
    "jdoe@vmi/web": Place("vmi", "web", "", "jdoe"),
    "jdoe@corp@vm/web/team": Place("vm", "web", "team", "jdoe@corp"),
}


@pytest.mark.parametrize(("text", "place"), PLACES.items(), ids=PLACES)
def test_a_guest_is_named_by_type_name_and_namespace(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize(
    ("text", "place"), [("web", Place("vmi", "web")), ("me@web.a", Place("vmi", "web", "a", "me"))]
)
def test_a_type_may_be_left_out_where_there_is_a_usual_one(text: str, place: Place) -> None:
    assert parse_place(text, default_kind="vmi") == place


@pytest.mark.parametrize(
    "text", ["", "web", "vmi/", "/web", "vmi/web/", "vmi/a/b/c", "pod/web", "vmi/.team", "vmi/web."]
)
def test_what_names_no_guest_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse_place(text)


def test_a_place_is_a_resource() -> None:
    assert [Place(kind, "x").resource for kind in ("vm", "vmi")] == ["virtualmachines", "virtualmachineinstances"]


def test_an_instance_may_have_its_kind_before_it() -> None:
    assert (read_instance("web"), read_instance("vm/web"), read_kind("VMI")) == ("web", "web", "vmi")


PORTS = {
    "8080": Port(8080, 8080),
    "8080:80": Port(8080, 80),
    "0:80": Port(0, 80),
    "tcp/22": Port(22, 22),
    "UDP/5353:53": Port(5353, 53, "udp"),
}


@pytest.mark.parametrize(("text", "port"), PORTS.items(), ids=PORTS)
def test_ports_are_read(text: str, port: Port) -> None:
    assert parse_port(text) == port


@pytest.mark.parametrize(
    "text", ["", "x", "80:", ":80", "1:2:3", "70000", "80:0", "80:70000", "sctp/80", "-1", "٣", "/80"]
)
def test_what_names_no_ports_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse_port(text)


def _install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("")
        (folder / name).chmod(stat.S_IRWXU)


@pytest.mark.parametrize(
    ("installed", "wanted", "found"),
    [
        ([], "", None),
        (["remote-viewer", "vncviewer"], "", "remote-viewer"),
        (["vncviewer"], "", "tiger"),
        (["remote-viewer", "vncviewer"], "real", "real"),
        (["remote-viewer"], "tiger", None),
    ],
    ids=["none", "both", "one", "asked for", "not there"],
)
def test_a_viewer_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str], wanted: str, found: str | None
) -> None:
    _install(tmp_path, *installed)
    monkeypatch.setenv("PATH", str(tmp_path))
    viewer = find_viewer(wanted, platform="linux")
    assert (viewer and viewer.type) == found
    assert find_viewer("chicken", platform="darwin") is None


@pytest.mark.parametrize(
    ("viewer", "words"),
    [
        ("remote-viewer", ["x", "vnc://h:5900"]),
        ("tiger", ["x", "h::5900"]),
        ("real", ["x", "h::5900", "-WarnUnencrypted=0", "-Shared=0", "-ShareFiles=0"]),
        ("chicken", ["x", "h:5900"]),
    ],
)
def test_each_viewer_is_told_in_its_own_way(viewer: str, words: list[str]) -> None:
    assert Viewer(viewer, "x").build_arguments("h", 5900) == words


def test_ssh_is_given_a_proxy_that_survives_its_shell() -> None:
    target = Target(kubeconfig="/my files/100%/config", context="a b")
    proxy = build_proxy(Place("vm", "web", "team"), 2222, target, "/opt/my bin/virtctl")
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
        (Place("vmi", "web", "team"), "vmi.web.team"),
        (Place("vmi", "web", "team", "jdoe"), "jdoe@vmi.web.team"),
    ],
)
def test_the_guest_is_a_host_to_ssh(place: Place, host: str) -> None:
    assert name_host(place, Options(22, "", "", "", ())) == host
    assert name_host(place, Options(22, "root", "", "", ())) == (host if place.user else f"root@{host}")


def test_kinds_are_completed() -> None:
    context, parameter = click.Context(click.Command("x")), click.Argument(["x"])
    assert [item.value for item in complete_kind(context, parameter, "v")] == ["vm", "vmi"]
    assert [item.value for item in complete_place(context, parameter, "me@vmi")] == ["me@vmi/"]
    assert complete_place(context, parameter, "vmi/we") == []
