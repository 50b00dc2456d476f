"""Validate paths of files in container images."""

from collections.abc import Iterator
from posixpath import normpath

from virtshape.admission.violation import Violation


def check_path(path: str, field: str, at: str) -> Iterator[Violation]:
    """Check that a path is absolute, normalized and not the root; `at` is the subject of the message."""
    if path == "/":
        yield Violation("invalid-value", field, f"{at} must not point to root: name a file")
    elif normpath(f"/{path}").replace("//", "/") != path.removesuffix("/"):
        message = f"{at} must be an absolute path to a file without relative components, not {path}"
        yield Violation("invalid-value", field, message)
