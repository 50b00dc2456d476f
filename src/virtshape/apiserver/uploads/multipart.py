"""
Extract the file from a multipart form while the form is received: the content of the first field named `file`.

The multipart library parses in linear time and memory.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser, parse_options_header

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of a field's headers."""
LONGEST_BOUNDARY: Final = 70
_FIELD: Final = "file"

Read = Callable[[], Awaitable[bytes]]
"""Returns the next bytes of a body; empty at its end."""


class FormError(Exception):
    """A body that is not a form with a file."""


async def read_file(read: Read, content_type: str) -> AsyncIterator[bytes]:
    """Yield the chunks of the file; skip all other fields."""
    parser = PushMultipartParser(_find_boundary(content_type), max_header_size=LARGEST_HEAD)
    in_file = False
    while data := await read():
        try:
            for event in parser.parse(data):
                if isinstance(event, MultipartSegment):
                    in_file = event.name == _FIELD
                elif in_file and event is None:
                    await _skip_rest(read)
                    return
                elif in_file:
                    yield bytes(event)
        except ParserLimitReached:
            raise FormError(f"the headers of a form field are too large: limit is {LARGEST_HEAD} bytes") from None
        except MultipartError as error:
            raise FormError(f"invalid form: {error}") from None
    try:
        parser.close()
    except MultipartError:
        raise FormError("the form is incomplete") from None
    raise FormError('the form has no field "file"')


def _find_boundary(content_type: str) -> str:
    media, options = parse_options_header(content_type)
    boundary: str = options.get("boundary", "")
    if media != "multipart/form-data" or not 0 < len(boundary) <= LONGEST_BOUNDARY:
        raise FormError(
            "not a form: the content type must be multipart/form-data "
            f"with a boundary of at most {LONGEST_BOUNDARY} characters"
        )
    return boundary


async def _skip_rest(read: Read) -> None:
    """Read the rest of the body, because clients send all of it before they read the response."""
    while await read():
        pass
