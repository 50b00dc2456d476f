"""
Storage controllers: claims, volumes, DataVolumes, snapshots, uploads and quotas, and the volume sources of guests.

`controllers` creates the reconcilers, each of which has its own module. `protocol` defines the storage interface that
they use.
"""
