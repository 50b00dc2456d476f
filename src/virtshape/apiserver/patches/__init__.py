"""The kinds of patch, as pure functions from tree to tree."""
