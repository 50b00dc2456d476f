"""Expansion and lint of files, without a server."""
