"""A domain in libvirt's words: plain structs, one module a part."""
