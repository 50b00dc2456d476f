"""Validation of request bodies: unknown and duplicate fields; data of ConfigMaps and Secrets."""
