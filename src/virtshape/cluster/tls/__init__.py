"""Serving certificates of our processes on a cluster: made, kept, renewed, and trusted."""
