"""
The line to a launcher process: requests over its control socket, and its reports as they come.

Knows nothing of guests but the words.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from virtshape.launcher.report import Report
from virtshape.launcher.request import Answer, Request, Watch, format_line, parse_answer

LONGEST_LINE: Final = 4 * 1024 * 1024
PATIENCE_SECONDS: Final = 60.0


async def ask(socket: Path, request: Request) -> Answer:
    """Ask a launcher process; OSError if there is none, or if it goes away."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_unix_connection(socket, limit=LONGEST_LINE)
        try:
            writer.write(format_line(request))
            line = await reader.readline()
        finally:
            writer.close()
    if not line:
        raise ConnectionResetError("the launcher process went away")
    return parse_answer(line)


async def follow(socket: Path) -> AsyncIterator[Report]:
    """The reports of a launcher process, for as long as it is there; OSError if it is not."""
    reader, writer = await asyncio.open_unix_connection(socket, limit=LONGEST_LINE)
    try:
        writer.write(format_line(Watch()))
        while line := await reader.readline():
            report = parse_answer(line).report
            if report is not None:
                yield report
    finally:
        writer.close()
