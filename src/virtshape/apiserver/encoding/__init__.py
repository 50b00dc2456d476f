"""Formats of requests and responses: Tables, metadata only, protobuf, and content negotiation."""
