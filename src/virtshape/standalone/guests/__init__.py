"""Guests of this machine, as the controllers and the API see them."""
