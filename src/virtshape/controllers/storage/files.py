"""Read the files of an instance's volumes: secrets, config maps, service account tokens, downward API."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from virtshape.api.core.config import ConfigMap, Secret
from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import (
    CloudInitConfigDriveSource,
    CloudInitNoCloudSource,
    DownwardAPIVolumeSource,
    Volume,
)
from virtshape.api.launcherpod import CREDENTIALS_SUFFIX
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.controllers.storage.downwardapi import read_downward_file

Files = Mapping[str, bytes]
"""File contents by name; names may contain directories."""
IssueToken = Callable[[str, str], Awaitable[Files]]
"""A function that returns the files of a service account (token, CA, namespace), given its namespace and name."""

T = TypeVar("T", bound=Model)


class NotReadyError(Exception):
    """Something that an instance needs is missing; `reason` is for programs, `message` for users."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class FileReader:
    """Reads the files of volumes through a client."""

    def __init__(self, client: Client, issue_token: IssueToken) -> None:
        self._client = client
        self._issue_token = issue_token

    async def find_files(self, vmi: VirtualMachineInstance, volume: Volume) -> Files | None:
        """Return the files of a volume, or None if it has no files; raise NotReadyError if an object is missing."""
        namespace = _namespace(vmi)
        if volume.config_map is not None:
            return await self._read_map(volume.config_map.name, namespace, optional=bool(volume.config_map.optional))
        if volume.secret is not None:
            return await self.read_secret(volume.secret.secret_name, namespace, optional=bool(volume.secret.optional))
        if volume.sysprep is not None and volume.sysprep.config_map is not None:
            return await self._read_map(volume.sysprep.config_map.name, namespace)
        if volume.sysprep is not None and volume.sysprep.secret is not None:
            return await self.read_secret(volume.sysprep.secret.name, namespace)
        if volume.service_account is not None:
            return await self._read_account(volume.service_account.service_account_name or "", namespace)
        if volume.downward_api is not None:
            return _read_downward_files(vmi, volume.downward_api)
        cloud_init = volume.cloud_init_no_cloud or volume.cloud_init_config_drive
        return await self._read_cloud_init(cloud_init, namespace) if cloud_init is not None else None

    async def _read_cloud_init(
        self, source: CloudInitNoCloudSource | CloudInitConfigDriveSource, namespace: str
    ) -> Files | None:
        """Return the cloud-init data that is in secrets; None if no secret is used."""
        files: dict[str, bytes] = {}
        for reference, key in ((source.secret_ref, "userdata"), (source.network_data_secret_ref, "networkdata")):
            if reference is not None:
                files[key] = await self._read_document(reference, namespace, key)
        return files or None

    async def _read_document(self, reference: LocalObjectReference, namespace: str, key: str) -> bytes:
        found = await self.read_secret(reference.name, namespace)
        for spelling in (key, key.replace("data", "Data")):
            if spelling in found:
                return found[spelling]
        raise NotReadyError("InvalidSecret", f"Secret {namespace}/{reference.name} has no key {key}")

    async def _read_account(self, name: str, namespace: str) -> Files:
        try:
            return await self._issue_token(namespace, name)
        except StatusError as error:
            if error.code != 404:
                raise
            raise NotReadyError("ServiceAccountNotFound", f"ServiceAccount {namespace}/{name} not found") from None

    async def find_credentials(self, vmi: VirtualMachineInstance) -> dict[str, Files]:
        """Return the files of the secrets that access credentials refer to, by secret name plus CREDENTIALS_SUFFIX."""
        found: dict[str, Files] = {}
        for credential in vmi.spec.access_credentials or ():
            source = credential.ssh_public_key or credential.user_password
            secret = source.source.secret if source is not None else None
            if secret is not None:
                name = f"{secret.secret_name}{CREDENTIALS_SUFFIX}"
                found[name] = await self.read_secret(secret.secret_name, _namespace(vmi))
        return found

    async def _read_map(self, name: str | None, namespace: str, *, optional: bool = False) -> Files:
        found = await self._get(ConfigMap, name or "", namespace, optional=optional)
        if found is None:
            return {}
        texts = {key: text.encode() for key, text in (found.data or {}).items()}
        return texts | {key: b64decode(data) for key, data in (found.binary_data or {}).items()}

    async def read_secret(self, name: str | None, namespace: str, *, optional: bool = False) -> Files:
        """Return the content of a secret; for a missing secret, return {} if it is optional, or raise NotReadyError."""
        found = await self._get(Secret, name or "", namespace, optional=optional)
        return {key: b64decode(data) for key, data in (found.data or {}).items()} if found is not None else {}

    async def _get(self, kind: type[T], name: str, namespace: str, *, optional: bool) -> T | None:
        try:
            return await self._client.get(kind, name, namespace)
        except StatusError as error:
            if error.code != 404:
                raise
        if optional:
            return None
        raise NotReadyError(f"{kind.__name__}NotFound", f"{kind.__name__} {namespace}/{name} not found")


def _read_downward_files(vmi: VirtualMachineInstance, source: DownwardAPIVolumeSource) -> Files:
    files = {}
    for file in source.fields or ():
        fact = read_downward_file(vmi, file)
        if fact is None:
            raise NotReadyError("InvalidField", f"file {file.path} refers to an unknown field or resource")
        files[file.path] = fact.encode()
    return files


def _namespace(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.namespace or ""
