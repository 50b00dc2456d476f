"""Devices of a domain: structs and their XML, one module per kind of device."""
