"""The two commands: `virtctl` for those who use VMs, `virtshape` for those who run the system."""
