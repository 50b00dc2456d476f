"""Open files of a server: raise the limit, and keep some files for the database, guests and images."""

import resource
from typing import Final

from virtshape.apiserver.listener import MAX_CONNECTIONS

MAX_FILES: Final = 65536
RESERVED_FILES: Final = 512
"""Files that connections of clients do not use."""


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit, but not above MAX_FILES: shells set a low limit by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def count_connections() -> int:
    """Return how many connections the server accepts: all but RESERVED_FILES, or half of very few files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(files - RESERVED_FILES, files // 2))
