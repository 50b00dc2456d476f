"""Guests on one machine: from an instance to a domain, from a domain to QEMU."""
