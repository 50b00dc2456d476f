"""Run guests on one host: design a libvirt domain from an instance and run it with QEMU."""
