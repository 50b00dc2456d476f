"""What every long-running process shares: logs, metrics, garbage collection settings."""
