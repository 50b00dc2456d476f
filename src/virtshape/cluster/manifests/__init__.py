"""Manifests of an installation: one module for each kind of object, put in order by `build`."""
