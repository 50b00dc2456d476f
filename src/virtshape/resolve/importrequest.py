"""
Request and result of the subresource `preview-import`.

`offline.importpreview` computes the preview.
"""

from typing import Any, Literal

from msgspec import Struct

Result = Literal["create", "unchanged", "differs", "skipped"]


class ImportFile(Struct, forbid_unknown_fields=True):
    """A file with objects to import."""

    name: str
    """The name of the file, for messages."""
    text: str
    """YAML documents, JSON or Lists."""


class ReplacedRevision(Struct, forbid_unknown_fields=True):
    """A ControllerRevision that the server replaced with a revision of a newer API version."""

    namespace: str
    """The namespace of both revisions."""
    name: str
    """The name of the old revision, from the annotation `virtshape.io/upgraded-from` of the new one."""
    by: str
    """The name of the new revision."""


class ImportRequest(Struct, forbid_unknown_fields=True):
    """The files to import, and what exists on the server."""

    files: list[ImportFile]
    """The files to import."""
    halted: bool = False
    """True to import VMs with the run strategy Halted."""
    existing: list[Any] = []
    """
    Objects of the plan that exist on the server, in the API versions of the plan. Objects that have no fields except
    metadata are not compared.
    """
    replaced: list[ReplacedRevision] = []
    """Revisions that the server replaced after an earlier import."""


class ImportProblem(Struct, omit_defaults=True):
    """A problem in a file."""

    file: str
    """The name of the file."""
    message: str
    """The problem, with its field."""
    line: int = 0
    """The line of the problem; absent if the problem concerns the whole file."""
    column: int = 0
    """The column of the problem."""


class ImportChange(Struct):
    """A field whose value on the server differs from the value in the file; null means that the field is not set."""

    field: str
    """The path of the field."""
    then: Any
    """The value in the file."""
    now: Any
    """The value on the server or, for a new object, the value that it gets."""


class DroppedField(Struct):
    """A field in a file that is not imported."""

    field: str
    """The path of the field."""
    reason: str
    """The reason."""


class ImportObject(Struct, rename="camel", omit_defaults=True):
    """The plan for one object."""

    api_version: str
    """The API version of the object."""
    kind: str
    """The kind of the object."""
    name: str
    """The name of the object."""
    result: Result
    """
    `create`: the object does not exist yet. `unchanged`: the object exists with the values of the file. `differs`: the
    object exists with other values. `skipped`: the object is not imported.
    """
    resource: str = ""
    """The plural name of the resource, for the path of the object; absent if the object is skipped."""
    namespace: str = ""
    """The namespace of the object; absent if the kind is cluster-wide."""
    message: str = ""
    """Why the object is skipped or unchanged."""
    changes: list[ImportChange] = []
    """The fields that differ from the file."""
    dropped: list[DroppedField] = []
    """The fields that are not imported."""
    body: str = ""
    """The JSON text of the object to create or, if it differs, of the update that sets the values in the file."""
    owners: str = ""
    """The JSON text of a merge patch that sets the owner references of an existing object; absent if they are set."""


class ImportPreview(Struct):
    """The plan for an import."""

    problems: list[ImportProblem]
    """The problems in the files; if there are any, nothing is planned."""
    items: list[ImportObject]
    """The objects, in the order in which they must be written."""
