"""Files in, files out: everything that needs no server."""
