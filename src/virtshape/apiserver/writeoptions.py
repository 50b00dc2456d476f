"""Parameters of write requests, parsed and checked together."""

from typing import Final

import msgspec
from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.times import now
from virtshape.api.validation.violation import (
    forbidden_value,
    invalid_error,
    invalid_value,
    required_value,
    too_long_value,
)
from virtshape.api.wellknown import APPLY_PATCH
from virtshape.apiserver.encoding.negotiation import media_type
from virtshape.apiserver.managedfields.managedfields import name_manager
from virtshape.apiserver.message import Request

MAX_MANAGER_LENGTH: Final = 128
_VALIDATIONS: Final = ("Ignore", "Warn", "Strict")


class WriteOptions(Struct):
    """Options of a write: field manager, dry run, field validation and force, and the time of the write."""

    manager: str
    dry_run: bool
    validation: str
    force: bool
    now: str


def read_write_options(request: Request, kind: str) -> WriteOptions:
    """
    Return the options of a write; raise StatusError for invalid options.

    `kind` is the kind of the options, such as `CreateOptions`, for error messages.
    """
    manager = request.parameter("fieldManager")
    validation = request.parameter("fieldValidation") or "Warn"
    causes = [*_check_dry_run(request), *_check_manager(manager)]
    if validation not in _VALIDATIONS:
        message = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        causes.append(FieldError("fieldValidation", message, "FieldValueNotSupported"))
    if kind == "PatchOptions":
        causes += _check_patch(request, manager)
    if causes:
        raise invalid_error("meta.k8s.io", kind, "", causes)
    return WriteOptions(
        manager=name_manager(manager, request.headers.get("user-agent", "")),
        dry_run="dryRun" in request.query,
        validation=validation,
        force=bool(request.flag("force")),
        now=now(),
    )


def _check_dry_run(request: Request) -> list[FieldError]:
    given = request.query.get("dryRun", [])
    if all(value == "All" for value in given):
        return []
    shown = msgspec.json.encode(given).decode()
    return [FieldError("dryRun", f'Unsupported value: {shown}: supported values: "All"', "FieldValueNotSupported")]


def _check_manager(manager: str) -> list[FieldError]:
    if len(manager.encode(errors="replace")) > MAX_MANAGER_LENGTH:
        return [too_long_value("fieldManager", MAX_MANAGER_LENGTH)]
    if not manager.isprintable():
        return [invalid_value("fieldManager", manager, "should only contain printable characters")]
    return []


def _check_patch(request: Request, manager: str) -> list[FieldError]:
    if media_type(request.headers.get("content-type", "")) == APPLY_PATCH:
        return [] if manager else [required_value("fieldManager", "is required for apply patch")]
    if request.flag("force") is not None:
        return [forbidden_value("force", "may not be specified for non-apply patch")]
    return []
