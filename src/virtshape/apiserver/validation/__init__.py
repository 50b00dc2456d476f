"""Validation of request bodies: unknown and duplicate fields, and the data of ConfigMaps and Secrets."""
