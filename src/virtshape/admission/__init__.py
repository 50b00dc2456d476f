"""Admission: default and validate VMs, instance types and preferences before they are stored."""
