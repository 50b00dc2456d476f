"""Where processes of guests write what they have to say: files that guests themselves can neither read nor replace."""

import os
from pathlib import Path


def open_log(path: Path) -> int:
    """Open a log to add to it; its descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
