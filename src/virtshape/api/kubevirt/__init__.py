"""The group kubevirt.io: virtual machines, their instances and the configuration."""
