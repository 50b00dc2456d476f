"""Pure decisions: what a VM, an instance type and a preference make together. No I/O, no clock, no logging."""
