"""Object store in one SQLite file: an append-only log of revisions, the current state, and watches."""
