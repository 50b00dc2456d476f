"""Admission and conversion webhooks for a cluster's API server."""
