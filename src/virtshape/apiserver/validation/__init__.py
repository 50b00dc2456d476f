"""Validation of objects: names, metadata, fields and constraints."""
