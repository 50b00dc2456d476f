"""From an instance to a domain: decides everything, writes nothing."""
