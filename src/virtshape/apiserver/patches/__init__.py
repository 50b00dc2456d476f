"""Patch types, as pure functions from tree to tree."""
