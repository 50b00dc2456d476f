"""Standalone mode: API server, controllers, storage and guests in one process over a data directory."""
