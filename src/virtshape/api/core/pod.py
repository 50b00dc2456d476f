"""Structs that pods and VMs share: probe actions, downward API files, references to secrets."""

from typing import Literal

from virtshape.api.model import Int32, IntOrString, Model
from virtshape.api.quantity import Quantity


class ObjectFieldSelector(Model):
    """A field of the object itself."""

    field_path: str
    """The field, such as metadata.labels or metadata.annotations['team']."""
    api_version: str | None = None
    """Version in which the path is read; v1 by default."""


class ResourceFieldSelector(Model):
    """A resource request or limit of a container."""

    resource: str
    """The request or limit, such as limits.cpu or requests.memory."""
    container_name: str | None = None
    """The container; required in volumes."""
    divisor: Quantity | None = None
    """Unit in which the number is given, such as 1Mi; 1 by default."""


class DownwardAPIVolumeFile(Model):
    """A file with the value of a field of the pod or VM."""

    path: str
    """Path of the file in the volume; relative, without `..`."""
    field_ref: ObjectFieldSelector | None = None
    """Show a field, such as labels; excludes resourceFieldRef."""
    resource_field_ref: ResourceFieldSelector | None = None
    """Show a request or limit; excludes fieldRef."""
    mode: Int32 | None = None
    """Permission bits of the file, 0 to 0777 (octal, 511 in JSON); the volume's default where absent."""


class LocalObjectReference(Model):
    """A reference by name to an object in the same namespace."""

    name: str | None = None
    """The object's name."""


class TCPSocketAction(Model):
    """Succeeds if a TCP connection can be opened."""

    port: IntOrString
    """Port number, 1 to 65535, or the name of a port."""
    host: str | None = None
    """Host to connect to; the guest's address by default."""


class HTTPHeader(Model):
    """One header of a request."""

    name: str
    """The header's name."""
    value: str
    """The header's value."""


class HTTPGetAction(Model):
    """Succeeds if a GET request is answered with a status from 200 to 399."""

    port: IntOrString
    """Port number, 1 to 65535, or the name of a port."""
    path: str | None = None
    """Path to request; / by default."""
    scheme: Literal["HTTP", "HTTPS"] | None = None
    """HTTP (default) or HTTPS, whose certificate is not verified."""
    host: str | None = None
    """Host to connect to; the guest's address by default."""
    http_headers: list[HTTPHeader] | None = None
    """Headers to send; a name may occur more than once."""


class ExecAction(Model):
    """Succeeds if a command exits with 0; a probe of a VM runs it in the guest, through the guest agent."""

    command: list[str] | None = None
    """The program and its arguments; no shell is involved unless named here."""
