"""Guests in pods: the launcher that creates pods, the contents of the pods, and the guest status read from them."""
