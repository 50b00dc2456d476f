"""The VM controller: run strategies, revisions, status, live updates."""
