"""
Parse container image references such as `registry.example/team/disk:tag` and `docker://disk@sha256:...`.

The prefix `docker://` is optional.
"""

import re
from typing import Final, NamedTuple

from virtshape.launcher.images.errors import RefusedImageError

_DOCKER: Final = "docker.io"
_DOCKER_SERVER: Final = "registry-1.docker.io"
_REPOSITORY: Final = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_REGISTRY: Final = re.compile(r"(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_ANY_DIGEST: Final = f"sha256:{0:064}"


class Reference(NamedTuple):
    """A container image reference."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def server(self) -> str:
        """The host of the registry server, with its port if the reference has one."""
        return _DOCKER_SERVER if self.registry == _DOCKER else self.registry

    @property
    def version(self) -> str:
        """The digest if there is one, because it is immutable; otherwise the tag."""
        return self.digest or self.tag

    @property
    def is_latest(self) -> bool:
        """Return True for the tag `latest` without a digest."""
        return not self.digest and self.tag == "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.repository}{tag}{'@' + self.digest if self.digest else ''}"


def parse_reference(text: str) -> Reference:
    """
    Parse an image reference, with the same defaults for missing parts as container tools.

    >>> str(parse_reference("fedora"))
    'docker.io/library/fedora:latest'
    >>> str(parse_reference("docker://quay.io:443/team/disk:v1"))
    'quay.io:443/team/disk:v1'
    """
    name, _, digest = text.removeprefix("docker://").partition("@")
    head, slash, tail = name.rpartition("/")
    last, _, tag = tail.partition(":")
    registry, repository = _split_registry(f"{head}{slash}{last}")
    if registry == _DOCKER and "/" not in repository:
        repository = f"library/{repository}"
    parts = ((_REGISTRY, registry), (_REPOSITORY, repository), (_TAG, tag or "latest"), (DIGEST, digest or _ANY_DIGEST))
    if text.endswith((":", "@")) or not all(pattern.fullmatch(part) for pattern, part in parts):
        raise RefusedImageError(f"{text!r} is not the name of a container image")
    return Reference(registry, repository, tag or ("" if digest else "latest"), digest)


def _split_registry(name: str) -> tuple[str, str]:
    """Return the registry and the repository; the first part is a host if it has a dot or a port, or is localhost."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return _DOCKER, name
