"""
Controllers: reconcile VMs, VMIs and storage, run launcher pods, and collect garbage.

Controllers depend only on a client and on protocols that this package defines.
"""
