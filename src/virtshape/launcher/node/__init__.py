"""The host side of guests: probe the host, start and supervise launcher processes."""
