"""
Validation of ConfigMaps and Secrets: keys, base64, and required keys of secret types.

Messages are those of Kubernetes.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import invalid_value, required_value, too_long_value
from virtshape.api.wellknown import ACCOUNT_TOKEN_TYPE

MAX_DATA_BYTES: Final = 1024 * 1024
"""Maximum total size of the decoded values of a ConfigMap or Secret."""
_KEY: Final = "[-._a-zA-Z0-9]+"
_fits_key = re.compile(_KEY).fullmatch
_MAX_KEY_LENGTH: Final = 253
_KEY_MESSAGE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY}')"
)
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_BASIC: Final = ("username", "password")
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def check_config_data(kind: Kind, tree: JsonObject) -> list[FieldError]:
    """Return the problems with a ConfigMap or Secret, none for other kinds; raise StatusError if base64 is invalid."""
    if kind.group or kind.kind not in ("ConfigMap", "Secret"):
        return []
    encoded = "data" if kind.kind == "Secret" else "binaryData"
    size = _measure_encoded(kind, tree.get(encoded) or {})
    causes = [cause for field in ("data", "binaryData") for cause in _check_keys(field, tree.get(field) or {})]
    if kind.kind == "Secret":
        if size > MAX_DATA_BYTES:
            causes.append(too_long_value("data", MAX_DATA_BYTES))
        return [*causes, *_check_type(tree)]
    size += sum(len(text.encode()) for text in (tree.get("data") or {}).values())
    if size > MAX_DATA_BYTES:
        causes.append(too_long_value("[]", MAX_DATA_BYTES))  # Kubernetes' format of the empty path
    both = (tree.get("data") or {}).keys() & (tree.get("binaryData") or {}).keys()
    return causes + [
        invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData") for key in sorted(both)
    ]


def _measure_encoded(kind: Kind, values: dict[str, str]) -> int:
    """Return the decoded size of base64 values; raise StatusError if one is not base64."""
    size = 0
    for value in values.values():
        try:
            size += len(b64decode(value.replace("\n", "").replace("\r", ""), validate=True))
        except (binascii.Error, ValueError):
            head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
            raise StatusError(400, "BadRequest", f"{head}: illegal base64 data") from None
    return size


def _check_keys(field: str, values: dict[str, str]) -> Iterator[FieldError]:
    for key in values:
        at = f"{field}[{key}]"
        if len(key) > _MAX_KEY_LENGTH:
            yield invalid_value(at, key, f"must be no more than {_MAX_KEY_LENGTH} characters")
        if not _fits_key(key):
            yield invalid_value(at, key, _KEY_MESSAGE)
        if key == "." or key.startswith(".."):
            yield invalid_value(at, key, f"must not be '{key}'" if key in (".", "..") else "must not start with '..'")


def _check_type(secret: JsonObject) -> Iterator[FieldError]:
    data, wanted = secret.get("data") or {}, secret.get("type") or ""
    for key in _REQUIRED.get(wanted, ()):
        if key not in data:
            yield required_value(f"data[{key}]")
    if wanted == "kubernetes.io/basic-auth" and not any(key in data for key in _BASIC):
        for key in _BASIC:
            yield required_value(f"data[{key}]")
    if wanted == ACCOUNT_TOKEN_TYPE:
        annotations = (secret.get("metadata") or {}).get("annotations") or {}
        if not annotations.get(_ACCOUNT):
            yield required_value(f"metadata.annotations[{_ACCOUNT}]")
