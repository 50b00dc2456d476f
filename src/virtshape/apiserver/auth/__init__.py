"""Authentication and authorization: certificates, tokens, users, roles and bindings."""
