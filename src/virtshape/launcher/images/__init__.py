"""Disk images: inspect, fetch, unpack, convert and clone them; targets are replaced atomically."""
