"""Uploads: what clients send to fill claims with, as CDI's upload proxy takes it."""
