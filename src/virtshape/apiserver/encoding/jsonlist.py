"""Join the JSON texts of the items of a list."""

from collections.abc import Sequence
from io import BytesIO
from typing import Final

ITEMS_AT_ONCE: Final = 1000


def join_items(head: bytes, items: Sequence[bytes], tail: bytes) -> bytes:
    """
    Return `head`, the items with commas between them, and `tail`.

    Many items are joined in parts: while Python copies bytes, no other thread runs.
    """
    if len(items) <= ITEMS_AT_ONCE:
        return b"".join((head, b",".join(items), tail))
    joined = BytesIO()
    joined.write(head)
    for at in range(0, len(items), ITEMS_AT_ONCE):
        joined.write(b",".join(items[at : at + ITEMS_AT_ONCE]))
        joined.write(b"," if at + ITEMS_AT_ONCE < len(items) else tail)
    return joined.getvalue()
