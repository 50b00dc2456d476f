"""
Who to log in as at a registry, out of the JSON that container tools keep and pull secrets hold.

Pure.
"""

from base64 import b64decode
from binascii import Error as Base64Error

import msgspec
from msgspec import Struct

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.reference import parse_reference
from virtshape.launcher.images.web import Access

_DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")


class _Login(Struct):
    username: str = ""
    password: str = ""
    auth: str = ""


class _Logins(Struct):
    auths: dict[str, _Login] = {}


def find_registry_credentials(logins: str, image: str) -> Access:
    """What lets one in at the registry of an image; nothing if there is no login for it."""
    if not logins:
        return Access()
    try:
        known = msgspec.json.decode(logins, type=_Logins).auths
    except msgspec.MsgspecError as error:
        raise RefusedImageError(f"the pull secret cannot be read: {error}") from error
    registry = parse_reference(image).registry
    names = _DOCKER_HUB if registry in _DOCKER_HUB else (registry,)
    for place, login in known.items():
        if _host(place) in names:
            user, password = _split(login)
            return Access(user=user, password=password)
    return Access()


def _host(place: str) -> str:
    """The host of a registry, which tools write as an address at times."""
    return place.partition("://")[2].partition("/")[0] if "://" in place else place.partition("/")[0]


def _split(login: _Login) -> tuple[str, str]:
    if not login.auth:
        return login.username, login.password
    try:
        user, _, password = b64decode(login.auth, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError) as error:
        raise RefusedImageError("the pull secret holds a login that is no base64") from error
    return user, password
