"""Functions that all long-running processes share: logs, metrics, garbage collection settings."""
