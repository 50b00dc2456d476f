"""Documents about the server: discovery, OpenAPI, CustomResourceDefinitions, version and health."""
