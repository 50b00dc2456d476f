"""Libvirt domains: plain structs and the functions that render them as XML, one module per group of XML elements."""
