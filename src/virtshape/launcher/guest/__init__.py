"""The launcher process: prepare, start, serve and watch one guest."""
