"""The demo guest: a Debian kernel and scripts that report the virtual hardware from inside the guest."""
