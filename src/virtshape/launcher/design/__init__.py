"""Design a libvirt domain from an instance: all decisions, no XML."""
