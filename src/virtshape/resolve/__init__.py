"""Resolve a VM's references: find objects and revisions, and infer matchers from volumes."""
