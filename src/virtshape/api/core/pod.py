from typing import Literal

from virtshape.api.model import Int32, IntOrString, Model
from virtshape.api.quantity import Quantity


class ObjectFieldSelector(Model):
    field_path: str
    api_version: str | None = None


class ResourceFieldSelector(Model):
    resource: str
    container_name: str | None = None
    divisor: Quantity | None = None


class DownwardAPIVolumeFile(Model):
    path: str
    field_ref: ObjectFieldSelector | None = None
    mode: Int32 | None = None
    resource_field_ref: ResourceFieldSelector | None = None


class LocalObjectReference(Model):
    name: str | None = None


class TCPSocketAction(Model):
    port: IntOrString
    host: str | None = None


class HTTPHeader(Model):
    name: str
    value: str


class HTTPGetAction(Model):
    port: IntOrString
    host: str | None = None
    http_headers: list[HTTPHeader] | None = None
    path: str | None = None
    scheme: Literal["HTTP", "HTTPS"] | None = None


class ExecAction(Model):
    command: list[str] | None = None
