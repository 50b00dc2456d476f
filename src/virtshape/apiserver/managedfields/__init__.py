"""Who owns which field: field sets, managedFields and server-side apply."""
