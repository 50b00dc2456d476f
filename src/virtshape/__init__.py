"""Virtual machines get their shape from instance types and preferences."""
