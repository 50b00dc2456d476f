"""Fixtures to check domains with libvirt: its schema and its driver. A `conftest.py` imports them."""

from collections.abc import Iterator

import pytest
from lxml.etree import RelaxNG, parse
from tests.support.libvirtdriver import SCHEMA, Driver, find_missing, open_driver


@pytest.fixture(scope="session")
def schema() -> RelaxNG:
    if not SCHEMA.exists():
        pytest.skip("libvirt's schemas are not installed")
    return RelaxNG(parse(SCHEMA))


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    missing = find_missing()
    if missing:
        pytest.skip(missing)
    with open_driver() as driver:
        yield driver
