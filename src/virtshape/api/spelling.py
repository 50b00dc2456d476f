"""Suggest the known name that a misspelled name probably means, and quote names in messages."""

import json
from collections.abc import Iterable
from typing import Final

_MAX_QUOTE_LENGTH: Final = 60


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean "x"?` with the most similar known name, or an empty string."""
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    spelled = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), spelled, n=1, cutoff=0.7) if len(name) <= _MAX_QUOTE_LENGTH else []
    return f", did you mean {quote(spelled[near[0]])}?" if near else ""


def quote(text: str) -> str:
    """Return the text in double quotes, truncated if it is long."""
    return json.dumps(text if len(text) <= _MAX_QUOTE_LENGTH else text[:_MAX_QUOTE_LENGTH] + "…", ensure_ascii=False)
