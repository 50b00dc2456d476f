"""
Apply instance types and preferences to VMs. All functions are pure: no I/O, no clock, no logging.

Each part of a VM has a module, such as `cpu` or `disks`; `apply` defines the order of the modules.
"""
