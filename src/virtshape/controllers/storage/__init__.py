"""Storage controllers: claims, volumes, DataVolumes, snapshots, uploads and quotas, and the mounts of guests."""
