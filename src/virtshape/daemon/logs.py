"""Logging to standard error, as text or JSON."""

import logging
import sys
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

from virtshape.apiserver.http import AnyResponse, Handler
from virtshape.apiserver.message import Request

LEVELS: Final = ("debug", "info", "warning", "error")

_log = logging.getLogger("virtshape.access")


class TextFormatter(logging.Formatter):
    """Formats a record as one line, followed by the traceback if there is one."""

    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self.converter = time.gmtime


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object; the record's `facts` become additional fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        tree = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            tree["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(tree, enc_hook=str).decode()


def set_up_logs(level: str, form: Literal["text", "json"]) -> None:
    """Write log records of this level and above to standard error, as text or JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(max(logging.INFO, logging.getLogger().level))


def is_access_logged() -> bool:
    """Return True if requests are logged."""
    return _log.isEnabledFor(logging.DEBUG)


def log_requests(handle: Handler) -> Handler:
    """Return a handler that logs each request and its response."""

    def handle_and_log(request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        began = time.perf_counter()
        response = handle(request)
        if isinstance(response, AnyResponse):
            _log_request(request, response, began)
            return response
        return _log_when_done(request, response, began)

    return handle_and_log


async def _log_when_done(request: Request, pending: Awaitable[AnyResponse], began: float) -> AnyResponse:
    response = await pending
    _log_request(request, response, began)
    return response


def _log_request(request: Request, response: AnyResponse, began: float) -> None:
    milliseconds = round((time.perf_counter() - began) * 1000, 2)
    target = f"{request.path}?{request.query_text}" if request.query_text else request.path
    facts = {
        "method": request.method,
        "target": target,
        "status": response.status,
        "ms": milliseconds,
        "peer": request.peer,
        "agent": request.headers.get("user-agent", ""),
    }
    _log.debug("%s %s %d %.2fms", request.method, target, response.status, milliseconds, extra={"facts": facts})
