"""The launcher process: one guest, from its order to its end."""
