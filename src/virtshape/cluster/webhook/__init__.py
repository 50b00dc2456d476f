"""Admission and conversion as webhooks of a cluster's API server."""
