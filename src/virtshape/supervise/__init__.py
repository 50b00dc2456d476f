"""Supervised background tasks: logged when they fail, restarted with back-off, and visible in health checks."""
