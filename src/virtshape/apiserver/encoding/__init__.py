"""Response formats: Tables, metadata only, protobuf requests, content negotiation."""
