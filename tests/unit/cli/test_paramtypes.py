"""Parameter types: addresses, durations and CPU topologies."""

import click
import pytest

from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.cli.paramtypes import Address, Duration, TopologyType, parse_seconds


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:6443", ("127.0.0.1", 6443)),
        ("localhost:0", ("localhost", 0)),
        (":6443", ("0.0.0.0", 6443)),  # noqa: S104 - only parsed
        ("[::1]:6443", ("::1", 6443)),
    ],
)
def test_listen_address_is_parsed_into_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert Address().convert(text, None, None) == address


@pytest.mark.parametrize("text", ["6443", "localhost", "localhost:", "localhost:many", "localhost:65536", "::1:6443"])
def test_invalid_listen_address_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Address().convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("45", 45), ("45s", 45), ("1m30s", 90), ("0", None), ("0s", None)])
def test_durations_are_parsed_like_kubectl(text: str, seconds: float | None) -> None:
    assert Duration().convert(text, None, None) == text
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "1.5"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be a number with a unit, such as 45s"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "topology"),
    [
        ("sockets=2,cores=4,threads=2", CPUTopology(sockets=2, cores=4, threads=2)),
        ("threads=2,cores=4", CPUTopology(cores=4, threads=2)),
        ("sockets=1", CPUTopology(sockets=1)),
    ],
)
def test_topology_parts_are_accepted_in_any_order(text: str, topology: CPUTopology) -> None:
    assert TopologyType().convert(text, None, None) == topology


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "invalid topology part"),
        ("2x4x2", "write sockets=N,cores=N,threads=N"),
        ("socket=2", 'did you mean "sockets"'),
        ("sockets=0", "must be an integer greater than 0"),
        ("sockets=", "must be an integer greater than 0"),
        ("sockets=-1", "must be an integer greater than 0"),
        ("cores=4294967296", "must be an integer greater than 0"),
        ("cores=1,cores=2", "cores is given twice"),
    ],
)
def test_invalid_topology_flag_is_rejected(text: str, error: str) -> None:
    with pytest.raises(click.BadParameter, match=error):
        TopologyType().convert(text, None, None)
