"""Registry credentials from Docker's JSON configuration format, as in pull secrets."""

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


def get_registry_credentials(logins: str, image: str) -> Access:
    """Return the credentials for the registry of an image; empty if there are none."""
    if not logins:
        return Access()
    try:
        known = msgspec.json.decode(logins, type=_Logins).auths
    except msgspec.MsgspecError as error:
        raise RefusedImageError(f"the pull secret is invalid: {error}") from error
    registry = parse_reference(image).registry
    names = _DOCKER_HUB if registry in _DOCKER_HUB else (registry,)
    for place, login in known.items():
        if _host(place) in names:
            user, password = _split(login)
            return Access(user=user, password=password)
    return Access()


def _host(place: str) -> str:
    """Return the host of a registry; some tools store it as a URL."""
    return place.partition("://")[2].partition("/")[0] if "://" in place else place.partition("/")[0]


def _split(login: _Login) -> tuple[str, str]:
    if not login.auth:
        return login.username, login.password
    try:
        user, _, password = b64decode(login.auth, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError) as error:
        raise RefusedImageError("the pull secret is invalid: auth is not valid base64") from error
    return user, password
