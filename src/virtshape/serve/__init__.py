"""Composition: the parts put together into something that runs."""
