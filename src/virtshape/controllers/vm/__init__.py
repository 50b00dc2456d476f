"""The VM controller: run strategies, revisions, status and live updates."""
