"""Validation of objects by schema, metadata and names, with Kubernetes' messages."""
