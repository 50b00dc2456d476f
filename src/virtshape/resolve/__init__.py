"""Resolve what a VM refers to: find objects and revisions, infer matchers from volumes."""
