"""
What the launcher in a pod leaves behind for whoever reads the pod's end: why the guest has ended.

Pure: words in, text out, and back.
"""

from typing import Final

import msgspec
from msgspec import Struct

MOST_BYTES: Final = 4096
"""What Kubernetes keeps of a container's last words."""


class Farewell(Struct, omit_defaults=True, frozen=True):
    """Why a guest has ended: a word for programs, and words for people."""

    reason: str = ""
    message: str = ""


def format_farewell(farewell: Farewell) -> bytes:
    """The text, with as many of the words as fit."""
    while len(text := msgspec.json.encode(farewell)) > MOST_BYTES:
        farewell = Farewell(farewell.reason[:MOST_BYTES], farewell.message[: len(farewell.message) // 2])
    return text


def parse_farewell(text: str) -> Farewell:
    """Read the text; whatever else a container has left behind is words for people."""
    try:
        return msgspec.json.decode(text, type=Farewell)
    except msgspec.DecodeError:
        return Farewell(message=text.strip())
