"""A guest in a pod: where its volumes are found, how it is run there, and how it is visited."""
