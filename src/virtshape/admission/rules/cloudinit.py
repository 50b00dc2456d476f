"""
Cloud-init data in a VM: one source each for user and network data, and little of it where it stands in the VM itself.

Pure: yields violations.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from virtshape.admission.violation import Violation
from virtshape.api.core.pod import LocalObjectReference
from virtshape.api.kubevirt.volume import CloudInitConfigDriveSource, CloudInitNoCloudSource

MOST_BYTES: Final = 2048
"""How much of either may stand in the VM; more goes into a Secret."""

Source = CloudInitNoCloudSource | CloudInitConfigDriveSource


def check_cloud_init(source: Source, at: str) -> Iterator[Violation]:
    """Whether the data is there, once, and small enough; `at` is where the source stands."""
    user = (source.user_data, source.user_data_base64, source.secret_ref)
    network = (source.network_data, source.network_data_base64, source.network_data_secret_ref)
    if not any(user) and not any(network):
        message = f"{at} must have at least one userdatasource or one networkdatasource set: add userData"
        yield Violation("one-of", at, message)
    yield from _check_data("userData", user, at)
    yield from _check_data("networkData", network, at)


def _check_data(
    name: str, given: tuple[str | None, str | None, LocalObjectReference | None], at: str
) -> Iterator[Violation]:
    plain, encoded, secret = given
    if sum(map(bool, given)) > 1:
        message = f"{at} must have only one {name.lower()}source set: keep one of {name}, {name}Base64 and a secret"
        yield Violation("one-of", f"{at}.{name}", message)
    if secret is not None and not secret.name:
        yield Violation("invalid-value", at, f"{at}: the secret with {name} has no name")
    yield from _check_size(name, len((plain or "").encode()), f"{at}.{name}")
    if encoded:
        try:
            yield from _check_size(name, len(b64decode(encoded, validate=True)), f"{at}.{name}Base64")
        except binascii.Error:
            message = f"{at}.{name}Base64 is not a valid base64 value."
            yield Violation("invalid-value", f"{at}.{name}Base64", message)


def _check_size(name: str, size: int, field: str) -> Iterator[Violation]:
    if size > MOST_BYTES:
        words = f"it has {size} bytes: put it into a Secret and name that"
        yield Violation("invalid-value", field, f"{field} {name.lower()} exceeds {MOST_BYTES} byte limit: {words}")
