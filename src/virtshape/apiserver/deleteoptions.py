"""Parse and validate DeleteOptions. Grace periods are parsed but ignored."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import invalid_error, invalid_value, unsupported_value
from virtshape.apiserver.bodies import media_type_error, read_yaml
from virtshape.apiserver.encoding.negotiation import ACCEPTED, media_type
from virtshape.apiserver.message import JSON, YAML

_POLICIES: Final = ("Foreground", "Background", "Orphan")


class Preconditions(Struct):
    """Conditions that the object must meet to be deleted."""

    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class DeleteOptions(Struct, rename="camel"):
    """Options of a delete request; unknown options are ignored, as in Kubernetes."""

    kind: str = "DeleteOptions"
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None


def read_delete_options(body: bytes, query: Mapping[str, Sequence[str]], content_type: str = JSON) -> DeleteOptions:
    """Return the options in the body, or in the query if the body is empty; raise StatusError for invalid options."""
    try:
        options = _read_body(body, media_type(content_type) or JSON) if body else _read_query(query)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"error decoding delete options: {error}") from error
    if options.kind != "DeleteOptions":
        raise StatusError(400, "BadRequest", f"expected DeleteOptions, got {options.kind}")
    if causes := _check_options(options):
        raise invalid_error("meta.k8s.io", "DeleteOptions", "", causes)
    return options


def _read_body(body: bytes, media: str) -> DeleteOptions:
    if media == YAML:
        return msgspec.convert(read_yaml(body), DeleteOptions)
    if media != JSON:
        raise media_type_error(ACCEPTED)
    return msgspec.json.decode(body, type=DeleteOptions | None) or DeleteOptions()


def _read_query(query: Mapping[str, Sequence[str]]) -> DeleteOptions:
    given: JsonObject = {
        name: query[name][0] for name in ("propagationPolicy", "gracePeriodSeconds") if query.get(name)
    }
    if query.get("orphanDependents"):
        given["orphanDependents"] = query["orphanDependents"][0].lower() not in ("false", "0")
    if query.get("dryRun"):
        given["dryRun"] = list(query["dryRun"])
    return msgspec.convert(given, DeleteOptions, strict=False)


def _check_options(options: DeleteOptions) -> list[FieldError]:
    causes = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", policy, message))
    if policy not in (None, *_POLICIES):
        causes.append(unsupported_value("propagationPolicy", policy, (*_POLICIES, "nil")))
    if options.dry_run and options.dry_run != ["All"] * len(options.dry_run):
        causes.append(unsupported_value("dryRun", options.dry_run, ["All"]))
    return causes
