"""
What the launcher in a pod leaves behind for whoever reads the pod's end: why the guest has ended.

Pure: words in, text out, and back.
"""

from typing import Final

import msgspec
from msgspec import Struct

MAX_BYTES: Final = 4096
"""What Kubernetes keeps of a container's last words."""


class TerminationMessage(Struct, omit_defaults=True, frozen=True):
    """Why a guest has ended: a word for programs, and words for people."""

    reason: str = ""
    message: str = ""


def format_termination_message(message: TerminationMessage) -> bytes:
    """The text, with as many of the words as fit."""
    while len(text := msgspec.json.encode(message)) > MAX_BYTES:
        message = TerminationMessage(message.reason[:MAX_BYTES], message.message[: len(message.message) // 2])
    return text


def parse_termination_message(text: str) -> TerminationMessage:
    """Read the text; whatever else a container has left behind is words for people."""
    try:
        return msgspec.json.decode(text, type=TerminationMessage)
    except msgspec.DecodeError:
        return TerminationMessage(message=text.strip())
