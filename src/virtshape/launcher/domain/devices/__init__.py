"""The devices of a domain in libvirt's words: one module a family."""
