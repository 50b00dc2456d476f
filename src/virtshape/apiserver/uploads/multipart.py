"""
Extract the file from a multipart form while the form is received: the content of the first field named `file`.

The multipart library parses in linear time.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser, parse_options_header

MAX_HEAD_BYTES: Final = 64 * 1024
"""Maximum size of a field's headers."""
MAX_BOUNDARY_LENGTH: Final = 70
_FIELD: Final = "file"

Read = Callable[[], Awaitable[bytes]]
"""Returns the next bytes of a body; empty at its end."""


class FormError(Exception):
    """The body is not a form with a file."""


async def read_file(read: Read, content_type: str) -> AsyncIterator[bytes]:
    """Yield the chunks of the file and skip all other fields; raise FormError if the form is invalid or has no file."""
    parser = PushMultipartParser(_find_boundary(content_type), max_header_size=MAX_HEAD_BYTES)
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
            raise FormError(f"the headers of a form field are too large: limit is {MAX_HEAD_BYTES} bytes") from None
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
    if media != "multipart/form-data" or not 0 < len(boundary) <= MAX_BOUNDARY_LENGTH:
        raise FormError(
            "not a form: the content type must be multipart/form-data "
            f"with a boundary of at most {MAX_BOUNDARY_LENGTH} characters"
        )
    return boundary


async def _skip_rest(read: Read) -> None:
    """Read the rest of the body, because clients send all of it before they read the response."""
    while await read():
        pass
