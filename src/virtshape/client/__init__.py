"""API clients: one protocol, over HTTP to any Kubernetes API server or in-process."""
