"""Serving certificates of the components on a cluster: sources, renewal and CA injection."""
