"""Answer scrapes: collect counters on the event loop, and encode them in a thread."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.responses import NO_CACHE
from virtshape.daemon.metrics.families import Family

ListFamilies = Callable[[], Iterable[Family]]


class Scraper:
    """Answers the scrapes of one process, one at a time. `?name[]=` selects metrics by name."""

    def __init__(self, list_families: ListFamilies) -> None:
        self._list_families = list_families
        self._thread = ThreadPoolExecutor(1, "metrics")

    async def answer(self, request: Request) -> Response:
        """Return all metrics of the process, or only the metrics that the request selects."""
        families = list(self._list_families())
        return await asyncio.get_running_loop().run_in_executor(self._thread, _encode, families, request)


def _encode(families: Sequence[Family], request: Request) -> Response:
    from virtshape.daemon.metrics.exposition import encode_families  # the import takes 20 ms

    found = encode_families(
        families,
        accept=request.headers.get("accept", ""),
        names=frozenset(request.query.get("name[]", ())),
        compress="gzip" in request.headers.get("accept-encoding", ""),
    )
    headers: tuple[tuple[str, str], ...] = (*NO_CACHE, ("vary", "Accept, Accept-Encoding"))
    if found.is_compressed:
        headers += (("content-encoding", "gzip"),)
    return Response(200, found.body, found.content_type, headers)
