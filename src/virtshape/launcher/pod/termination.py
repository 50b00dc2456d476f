"""The termination message of a launcher pod: why the guest ended. Pure."""

from typing import Final

import msgspec
from msgspec import Struct

MAX_BYTES: Final = 4096
"""The maximum size of a termination message in Kubernetes."""


class TerminationMessage(Struct, omit_defaults=True, frozen=True):
    """Why a guest ended: a reason for programs and a message for users."""

    reason: str = ""
    message: str = ""


def format_termination_message(message: TerminationMessage) -> bytes:
    """Format the message, cut to the maximum size."""
    while len(text := msgspec.json.encode(message)) > MAX_BYTES:
        message = TerminationMessage(message.reason[:MAX_BYTES], message.message[: len(message.message) // 2])
    return text


def parse_termination_message(text: str) -> TerminationMessage:
    """Parse a termination message; any other text becomes the message."""
    try:
        return msgspec.json.decode(text, type=TerminationMessage)
    except msgspec.DecodeError:
        return TerminationMessage(message=text.strip())
