"""From the devices, volumes and networks of an instance to those of a domain: one module a family."""
