"""Run guests on a host: probe the host, start and supervise launcher processes."""
