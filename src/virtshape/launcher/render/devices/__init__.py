"""From the devices of a domain to XML: one module a family."""
