"""Expand and lint the VMs in files, without a server."""
