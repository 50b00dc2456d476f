"""From a domain to XML: writes everything, decides nothing."""
