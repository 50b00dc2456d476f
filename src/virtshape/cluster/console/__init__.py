"""The web console for the API server of a cluster: as a component of the installation, or on a user's machine."""
