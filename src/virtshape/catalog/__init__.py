"""The built-in instance types and preferences, with the names and sizes of KubeVirt's common-instancetypes."""

from virtshape.catalog.loader import CatalogObject, find, load, names

__all__ = ["CatalogObject", "find", "load", "names"]
