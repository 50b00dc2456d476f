"""Arguments of guest commands: targets and ports."""

import click
import pytest

from virtshape.cli.errors import ArgumentError
from virtshape.cli.guest.arguments import GuestRef, Port, parse_guest, parse_port
from virtshape.cli.guest.instance import complete_guest, complete_kind, parse_instance_name, parse_kind

PLACES = {
    "vmi/web": GuestRef("vmi", "web"),
    "VMs/web": GuestRef("vm", "web"),
    "virtualmachineinstance/web/team": GuestRef("vmi", "web", "team"),
    "vm/web.team": GuestRef("vm", "web", "team"),
    "vm/web.prod.team": GuestRef("vm", "web.prod", "team"),
    "vm/web.prod/team": GuestRef("vm", "web.prod", "team"),
    "jdoe@vmi/web": GuestRef("vmi", "web", "", "jdoe"),
    "jdoe@corp@vm/web/team": GuestRef("vm", "web", "team", "jdoe@corp"),
}


@pytest.mark.parametrize(("text", "place"), PLACES.items(), ids=PLACES)
def test_target_of_a_guest_command_is_parsed_into_kind_name_and_namespace(text: str, place: GuestRef) -> None:
    assert parse_guest(text) == place


@pytest.mark.parametrize(
    ("text", "place"), [("web", GuestRef("vmi", "web")), ("me@web.a", GuestRef("vmi", "web", "a", "me"))]
)
def test_target_of_a_guest_command_without_a_kind_has_the_default_kind(text: str, place: GuestRef) -> None:
    assert parse_guest(text, default_kind="vmi") == place


@pytest.mark.parametrize(
    "text", ["", "web", "vmi/", "/web", "vmi/web/", "vmi/a/b/c", "pod/web", "vmi/.team", "vmi/web."]
)
def test_invalid_target_of_a_guest_command_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_guest(text)


def test_target_of_a_guest_command_has_the_resource_of_its_kind() -> None:
    assert [GuestRef(kind, "x").resource for kind in ("vm", "vmi")] == ["virtualmachines", "virtualmachineinstances"]


def test_instance_name_may_have_a_kind_prefix() -> None:
    assert (parse_instance_name("web"), parse_instance_name("vm/web"), parse_kind("VMI")) == ("web", "web", "vmi")


PORTS = {
    "8080": Port(8080, 8080),
    "8080:80": Port(8080, 80),
    "0:80": Port(0, 80),
    "tcp/22": Port(22, 22),
    "UDP/5353:53": Port(5353, 53, "udp"),
}


@pytest.mark.parametrize(("text", "port"), PORTS.items(), ids=PORTS)
def test_forwarded_ports_are_parsed(text: str, port: Port) -> None:
    assert parse_port(text) == port


@pytest.mark.parametrize(
    "text", ["", "x", "80:", ":80", "1:2:3", "70000", "80:0", "80:70000", "sctp/80", "-1", "٣", "/80"]
)
def test_invalid_forwarded_port_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_port(text)


def test_shell_completion_offers_target_kinds() -> None:
    context, parameter = click.Context(click.Command("x")), click.Argument(["x"])
    assert [item.value for item in complete_kind(context, parameter, "v")] == ["vm", "vmi"]
    assert [item.value for item in complete_guest(context, parameter, "me@vmi")] == ["me@vmi/"]
    assert complete_guest(context, parameter, "vmi/we") == []
