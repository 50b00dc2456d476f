"""
Life cycle of instance types, flavors and preferences: active, deprecated or retired.

A deprecated object causes a warning for each VM that uses it. A retired object cannot be used by new VMs; existing VMs
continue to use their stored revision.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.api.wellknown import DEPRECATED_LABEL, LIFECYCLE_LABEL, REPLACEMENT_ANNOTATION

State = Literal["active", "deprecated", "retired"]

STATES: Final[dict[str, State]] = {"active": "active", "deprecated": "deprecated", "retired": "retired"}
DEPRECATED_REFERENCE: Final = "deprecated-reference"
"""Name of the rule for VMs that use a deprecated instance type or preference, and existing VMs with a retired one."""
RETIRED_REFERENCE: Final = "retired-reference"
"""Name of the rule for new VMs that use a retired instance type or preference."""
_INVALID: Final = "invalid-metadata"
_LABEL_FIELD: Final = f"metadata.labels[{LIFECYCLE_LABEL}]"
_ANNOTATION_FIELD: Final = f"metadata.annotations[{REPLACEMENT_ANNOTATION}]"


class Lifecycle(NamedTuple):
    """The state of an object, and the `[KIND/]NAME` of its replacement, or an empty string."""

    state: State = "active"
    replacement: str = ""


class Use(NamedTuple):
    """
    A VM's use of an object: the kind and name of the object, and the VM's field that refers to it.

    `is_new` is True if the VM did not use the object before.
    """

    kind: str
    name: str
    field: str
    is_new: bool


ACTIVE: Final = Lifecycle()


def read_lifecycle(metadata: ObjectMeta) -> Lifecycle:
    """Return the life cycle that the labels and annotations of an object define."""
    state = read_state(metadata.labels)
    if state == "active":
        return ACTIVE
    return Lifecycle(state, (metadata.annotations or {}).get(REPLACEMENT_ANNOTATION, ""))


def read_state(labels: Mapping[str, str] | None) -> State:
    """Return the state that the labels of an object define."""
    if not labels:
        return "active"
    state = STATES.get(labels.get(LIFECYCLE_LABEL, ""))  # admission rejects values that are not in STATES
    return state or ("deprecated" if labels.get(DEPRECATED_LABEL) == "true" else "active")


def check_use(use: Use, lifecycle: Lifecycle) -> FieldError | None:
    """Return an error if the object is retired and its use is new, a warning if it is not active, or else None."""
    if lifecycle.state == "active":
        return None
    instead = f"use {lifecycle.replacement} instead" if lifecycle.replacement else ""
    subject = f'{use.kind} "{use.name}" is {lifecycle.state}'
    if lifecycle.state == "deprecated":
        return FieldError(use.field, f"{subject}: {instead}" if instead else subject, rule=DEPRECATED_REFERENCE)
    if use.is_new:
        message = f"{subject}: new VMs cannot use it{'; ' if instead else ''}{instead}"
        return FieldError(use.field, message, "FieldValueNotSupported", RETIRED_REFERENCE)
    message = f"{subject}: the VM keeps its stored revision{'; ' if instead else ''}{instead}"
    return FieldError(use.field, message, rule=DEPRECATED_REFERENCE)


def check_lifecycle(kind: str, metadata: ObjectMeta) -> list[FieldError]:
    """Return the violations in the label and the annotation that define the life cycle of an object."""
    errors = []
    state = (metadata.labels or {}).get(LIFECYCLE_LABEL)
    if state is not None and state not in STATES:
        message = f'{LIFECYCLE_LABEL} "{state}" is not supported: must be active, deprecated or retired'
        errors.append(FieldError(_LABEL_FIELD, message, "FieldValueNotSupported", _INVALID))
    replacement = (metadata.annotations or {}).get(REPLACEMENT_ANNOTATION)
    if replacement is None:
        return errors
    named = parse_replacement(replacement, kind)
    if named is None or not named.name:
        example = f"NAME, or KIND/NAME with the kind {' or '.join(_list_kinds(kind))}"
        message = f'{REPLACEMENT_ANNOTATION} "{replacement}" is invalid: must be {example}'
        errors.append(FieldError(_ANNOTATION_FIELD, message, rule=_INVALID))
    elif named == (kind, metadata.name):
        message = f'{REPLACEMENT_ANNOTATION} "{replacement}" is the object itself: use another name'
        errors.append(FieldError(_ANNOTATION_FIELD, message, rule=_INVALID))
    return errors


class Replacement(NamedTuple):
    """The kind and name of the object that replaces a deprecated or retired object."""

    kind: str
    name: str


def parse_replacement(text: str, kind: str) -> Replacement | None:
    """Parse the `[KIND/]NAME` that replaces an object of this kind; return None if its kind is unsuitable."""
    named, slash, name = text.rpartition("/")
    if not slash:
        return Replacement(kind, name)
    return next((Replacement(known, name) for known in _list_kinds(kind) if known.lower() == named.lower()), None)


def _list_kinds(kind: str) -> tuple[str, str]:
    """Return the cluster-wide and the namespaced form of a kind."""
    suffix = kind.removeprefix("VirtualMachine").removeprefix("Cluster")
    return f"VirtualMachineCluster{suffix}", f"VirtualMachine{suffix}"
