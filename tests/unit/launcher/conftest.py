"""Fixtures to check domains with libvirt."""

from tests.support.libvirtfixtures import driver, schema

__all__ = ["driver", "schema"]
