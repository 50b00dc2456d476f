"""Metrics for Prometheus: what each part of a process reports, and how a scrape is answered."""
