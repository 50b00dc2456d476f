"""Random names: a prefix and five random characters, as in Kubernetes."""

import secrets

# No vowels and no similar characters, so that no name is a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def random_name(prefix: str) -> str:
    """Return a name such as `vm-x7k2p`."""
    return f"{prefix}-{''.join(secrets.choice(_ALPHABET) for _ in range(5))}"
