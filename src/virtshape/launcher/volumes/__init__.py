"""From the volumes of an instance to disk images that QEMU can open."""
