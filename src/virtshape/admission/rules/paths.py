"""
Paths of files in container images: absolute, without detours, and of a file.

Pure: yields violations.
"""

from collections.abc import Iterator
from posixpath import normpath

from virtshape.admission.violation import Violation


def check_path(path: str, field: str, at: str) -> Iterator[Violation]:
    """Whether a path leads to a file; it stands in a field, and `at` is what the sentence is about."""
    if path == "/":
        yield Violation("invalid-value", field, f"{at} must not point to root: name a file")
    elif normpath(f"/{path}").replace("//", "/") != path.removesuffix("/"):
        message = f"{at} must be an absolute path to a file without relative components, unlike {path}"
        yield Violation("invalid-value", field, message)
