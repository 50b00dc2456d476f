"""Validate serial numbers of guests and disks."""

import re
from collections.abc import Iterator
from typing import Final

from virtshape.admission.violation import Violation

MAX_SERIAL_LENGTH: Final = 256
_SERIAL: Final = re.compile(r"[A-Za-z0-9_.+-]{1,256}")


def is_serial(text: str) -> bool:
    """Return True if the text is a valid serial number."""
    return _SERIAL.fullmatch(text) is not None


def check_serial(serial: str, field: str, at: str) -> Iterator[Violation]:
    """Check a serial number; `at` is the subject of the message."""
    if is_serial(serial):
        return
    if len(serial) > MAX_SERIAL_LENGTH:
        message = f"{at} must be less than or equal to {MAX_SERIAL_LENGTH} in length, if specified"
        yield Violation("invalid-value", field, message)
    if not is_serial(serial[:MAX_SERIAL_LENGTH]):
        message = f"{at} must be made up of the following characters [A-Za-z0-9_.+-], if specified"
        yield Violation("invalid-value", field, message)
