"""What libvirt itself says of domains, as the unit tests ask it."""

from tests.unit.launcher.conftest import driver, schema

__all__ = ["driver", "schema"]
