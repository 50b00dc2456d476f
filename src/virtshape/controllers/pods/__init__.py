"""Guests in pods: what a pod must look like to run one, what pods tell of them, and the launcher that makes pods."""
