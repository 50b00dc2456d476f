"""Inspect, fetch, unpack, convert and clone disk images; targets are replaced atomically."""
