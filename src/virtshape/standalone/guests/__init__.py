"""Guests of this machine: launcher, streams, node and persistent state."""
