"""Manifests of an installation: one module for each kind of object, and `build`, which returns all objects in order."""
