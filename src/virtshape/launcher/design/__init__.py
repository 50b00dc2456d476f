"""Design a libvirt domain from an instance. This package makes all decisions and renders no XML."""
