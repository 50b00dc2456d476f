"""Fixtures to check domains with libvirt, shared with the unit tests."""

from tests.unit.launcher.conftest import driver, schema

__all__ = ["driver", "schema"]
