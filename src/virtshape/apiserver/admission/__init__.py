"""Admission steps of the API server: complete, check or reject objects before they are stored."""
