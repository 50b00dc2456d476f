"""What the server says about itself: discovery, OpenAPI, definitions of kinds, version and health."""
