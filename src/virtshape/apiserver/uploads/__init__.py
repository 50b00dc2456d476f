"""Uploads into persistent volume claims, compatible with CDI's upload proxy."""
