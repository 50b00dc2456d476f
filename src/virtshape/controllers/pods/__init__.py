"""Guests in pods: build launcher pods, read guest status from them, and the launcher that creates them."""
