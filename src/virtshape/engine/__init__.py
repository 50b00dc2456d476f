"""Apply instance types and preferences to VMs. Pure functions: no I/O, no clock, no logging."""
