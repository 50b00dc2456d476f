"""The machine that guests run on: what it offers, and their launcher processes as its supervisor sees them."""
