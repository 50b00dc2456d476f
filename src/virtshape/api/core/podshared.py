"""Structs that pods and VMs share: probe actions, downward API files, references to secrets."""

from typing import Literal

from virtshape.api.model import Int32, IntOrString, Model
from virtshape.api.quantity import Quantity


class ObjectFieldSelector(Model):
    """A field of the pod or VM itself."""

    field_path: str
    """The field, such as metadata.labels or metadata.annotations['team']."""
    api_version: str | None = None
    """API version of the object that the path refers to; v1 by default."""


class ResourceFieldSelector(Model):
    """A resource request or limit of a container."""

    resource: str
    """The request or limit, such as limits.cpu or requests.memory."""
    container_name: str | None = None
    """Name of the container; required in volumes."""
    divisor: Quantity | None = None
    """Unit in which the number is given, such as 1Mi; 1 by default."""


class DownwardAPIVolumeFile(Model):
    """A file with the value of a field of the pod or VM."""

    path: str
    """Path of the file in the volume; relative, without `..`."""
    field_ref: ObjectFieldSelector | None = None
    """The field to show, such as metadata.labels; mutually exclusive with resourceFieldRef."""
    resource_field_ref: ResourceFieldSelector | None = None
    """The request or limit to show; mutually exclusive with fieldRef."""
    mode: Int32 | None = None
    """Permission bits of the file, 0 to 0777 (octal, 511 in JSON); the volume's default if absent."""


class LocalObjectReference(Model):
    """A reference by name to an object in the same namespace."""

    name: str | None = None
    """Name of the referenced object."""


class TCPSocketAction(Model):
    """A check that succeeds if a TCP connection can be opened."""

    port: IntOrString
    """Port number, 1 to 65535, or the name of a port."""
    host: str | None = None
    """Host to connect to; the guest's address by default."""


class HTTPHeader(Model):
    """One header of a request."""

    name: str
    """Name of the header."""
    value: str
    """Value of the header."""


class HTTPGetAction(Model):
    """A check that succeeds if the response to a GET request has a status from 200 to 399."""

    port: IntOrString
    """Port number, 1 to 65535, or the name of a port."""
    path: str | None = None
    """Path to request; / by default."""
    scheme: Literal["HTTP", "HTTPS"] | None = None
    """HTTP (default), or HTTPS without verification of the certificate."""
    host: str | None = None
    """Host to connect to; the guest's address by default."""
    http_headers: list[HTTPHeader] | None = None
    """Headers to send; a name may occur more than once."""


class ExecAction(Model):
    """A check that succeeds if a command exits with 0; for a VM, the guest agent runs the command in the guest."""

    command: list[str] | None = None
    """The program and its arguments, which are not passed to a shell."""
