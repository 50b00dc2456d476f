"""
Logging to standard error, as text or JSON.

JSON lines have fields for the request and the object that the record is about. Their values come from context
variables, from the exceptions and object keys in the record's arguments, and from the record's `facts`.
"""

import logging
import sys
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from virtshape.apiserver.http import Handler
from virtshape.apiserver.message import CURRENT_REQUEST, AnyResponse, Request
from virtshape.apiserver.route import find_route
from virtshape.apiserver.subresources.route import PREFIX, find_action
from virtshape.client.cache import ObjectKey
from virtshape.controllers.runtime.loop import CURRENT_RECONCILE

_log = logging.getLogger("virtshape.access")


class TextFormatter(logging.Formatter):
    """Formats a record as one line, with the ID of the request, followed by the traceback if there is one."""

    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line, which ends with the request ID if the record belongs to a request."""
        line, request = super().formatMessage(record), CURRENT_REQUEST.get()
        return f"{line} request_id={request.audit_id}" if request is not None else line


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object; the record's `facts` become additional fields."""

    def __init__(self, component: str = "") -> None:
        super().__init__()
        self._component = {"component": component} if component else {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        tree = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._component,
            **find_context(record),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            tree["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(tree, enc_hook=str).decode()


def find_context(record: logging.LogRecord) -> dict[str, str]:
    """Return the context of a record, as far as it is known: `request_id`, `controller`, `object` and `error`."""
    found: dict[str, str] = {}
    request, reconciled = CURRENT_REQUEST.get(), CURRENT_RECONCILE.get()
    if request is not None:
        found["request_id"] = request.audit_id
        found |= _find_requested_object(request)
    if reconciled is not None:
        found |= {"controller": reconciled.controller, "object": str(reconciled.name)}
    arguments = record.args if isinstance(record.args, tuple) else ()
    for argument in (*arguments, record.exc_info[1] if record.exc_info else None):
        if isinstance(argument, ObjectKey):
            found["object"] = str(argument)
        elif isinstance(argument, BaseException):
            found["error"] = str(argument) or type(argument).__name__
    return found


def _find_requested_object(request: Request) -> dict[str, str]:
    action = find_action(request) if request.path.startswith(PREFIX) else None
    route = action.audited if action is not None else find_route(request)
    return {"object": str(ObjectKey(route.namespace, route.name))} if route is not None and route.name else {}


def set_up_logs(level: str, form: Literal["text", "json"], component: str = "") -> None:
    """Write log records of this level and above to standard error, as text or JSON with the name of the component."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(component) if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(max(logging.INFO, logging.getLogger().level))


def is_access_logged() -> bool:
    """Return True if each request is logged, as at level debug."""
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
