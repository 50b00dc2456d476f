"""
Names for what the user did not name: a prefix and five random characters, as Kubernetes makes them.

Random, not unique: two names can be the same, and then the second object is refused.
"""

import secrets

# No vowels and no look-alikes, so that no name spells a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def random_name(prefix: str) -> str:
    """Make a name such as `vm-x7k2p`."""
    return f"{prefix}-{''.join(secrets.choice(_ALPHABET) for _ in range(5))}"
