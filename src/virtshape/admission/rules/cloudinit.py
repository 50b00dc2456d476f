"""Validate cloud-init volumes: one source for user data, one for network data, and the size limit of inline data."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.volume import CloudInitConfigDriveSource, CloudInitNoCloudSource

MAX_BYTES: Final = 2048
"""Maximum size of inline user or network data; larger data must be in a Secret."""

Source = CloudInitNoCloudSource | CloudInitConfigDriveSource


def check_cloud_init(source: Source, at: str) -> Iterator[FieldError]:
    """Check the sources of user and network data, and the size of inline data; `at` is the volume source's path."""
    user = (source.user_data, source.user_data_base64, source.secret_ref)
    network = (source.network_data, source.network_data_base64, source.network_data_secret_ref)
    has_user, has_network = any(user), any(network)
    if not has_user and not has_network:
        message = f"{at} must have at least one userdatasource or one networkdatasource set: add userData"
        yield FieldError(at, message, rule="one-of")
    if has_user:
        yield from _check_data("userData", user, at)
    if has_network:
        yield from _check_data("networkData", network, at)


def _check_data(
    name: str, given: tuple[str | None, str | None, LocalObjectReference | None], at: str
) -> Iterator[FieldError]:
    plain, encoded, secret = given
    if sum(map(bool, given)) > 1:
        sources = "userdatasource" if name == "userData" else "networkdata source"
        message = f"{at} must have only one {sources} set: keep one of {name}, {name}Base64 and a secret"
        yield FieldError(f"{at}.{name}", message, rule="one-of")
    if secret is not None and not secret.name:
        yield FieldError(at, f"{at}: the secret with {name} has no name", rule="invalid-value")
    yield from _check_size(name, len((plain or "").encode()), at, name)
    if encoded:
        try:
            yield from _check_size(name, len(b64decode(encoded, validate=True)), at, f"{name}Base64")
        except ValueError:
            message = f"{at}.{name}Base64 is not a valid base64 value."
            yield FieldError(f"{at}.{name}Base64", message, rule="invalid-value")


def _check_size(name: str, size: int, at: str, member: str) -> Iterator[FieldError]:
    if size > MAX_BYTES:
        advice = f"Should use {name[0].upper()}{name[1:]}SecretRef for larger data"
        message = f"{at} {name.lower()} exceeds {MAX_BYTES} byte limit. {advice}: it has {size} bytes"
        yield FieldError(f"{at}.{member}", message, rule="invalid-value")
