"""The one-machine system: API server, controllers, storage and guests in one process over a data directory."""
