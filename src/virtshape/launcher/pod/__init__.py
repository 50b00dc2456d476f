"""The launcher in a pod: find mounts, run the guest, serve exec commands."""
