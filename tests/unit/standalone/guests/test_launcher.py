"""Bridges for the networks of instances."""

from pathlib import Path

import pytest
from tests.support.devices import POD_NETWORK, build_instance, build_interface

from virtshape.controllers.storage.files import NotReadyError
from virtshape.standalone.guests.launcher import find_bridges

PLUGGED = build_instance(build_interface(bridge={}), **POD_NETWORK)


def test_bridges_of_networks_come_from_the_configuration(tmp_path: Path) -> None:
    assert find_bridges(PLUGGED, tmp_path) == {}
    (tmp_path / "config.yaml").write_text("networks: {pod: br0, dev/office: br1}")
    assert find_bridges(PLUGGED, tmp_path) == {"pod": "br0", "dev/office": "br1"}


def test_configuration_is_read_only_if_an_interface_uses_a_bridge(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("networks: 7")
    assert find_bridges(build_instance(build_interface(masquerade={}), **POD_NETWORK), tmp_path) == {}
    with pytest.raises(NotReadyError, match="networks"):
        find_bridges(PLUGGED, tmp_path)
