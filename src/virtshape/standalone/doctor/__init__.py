"""Check whether a machine can run the server and guests."""
