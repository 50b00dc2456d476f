"""How a process ends in which libvirt has threads of its own: at once, since they would not survive an orderly end."""

import logging
import os
import sys
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End this process."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
