"""Field ownership: field sets, managedFields and server-side apply."""
