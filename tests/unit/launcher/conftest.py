"""What libvirt itself says of domains: its schema, and its driver."""

import os
from collections.abc import Iterator

import pytest
from lxml.etree import RelaxNG, parse
from tests.driver import SCHEMA, Driver, find_absence, open_driver

_give_up = pytest.fail if "CI" in os.environ else pytest.skip


@pytest.fixture(scope="session")
def schema() -> RelaxNG:
    if not SCHEMA.exists():
        _give_up("libvirt's schemas are not installed")
    return RelaxNG(parse(SCHEMA))


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    absence = find_absence()
    if absence:
        _give_up(absence)
    with open_driver() as driver:
        yield driver
