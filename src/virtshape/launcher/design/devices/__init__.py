"""Design the devices of a domain from the devices, volumes and networks of an instance."""
