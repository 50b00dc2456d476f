"""Standalone mode: one process runs the API server and controllers, and manages storage and guests."""
