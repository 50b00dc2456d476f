"""OpenAPI v2 and v3 documents, derived from the structs."""
