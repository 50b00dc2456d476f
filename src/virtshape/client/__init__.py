"""How our programs talk to an API server: one protocol, over HTTP to any Kubernetes or within the process."""
