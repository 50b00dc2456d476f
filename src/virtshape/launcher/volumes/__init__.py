"""Prepare the volumes of an instance as disk images for QEMU."""
