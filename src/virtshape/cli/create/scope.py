"""Names of new objects, and the scope of an instance type or preference: namespaced or cluster-wide."""

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from virtshape.api.meta import ObjectMeta
from virtshape.cli.command import switch
from virtshape.cli.connection import global_namespace
from virtshape.cli.errors import warn

F = TypeVar("F", bound=Callable[..., Any])
# No vowels, so that no name is a word, and no characters that look alike.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Scope(NamedTuple):
    """The name and namespace flags; None for a flag that was not given."""

    name: str | None
    namespace: str | None
    namespaced: bool | None

    @property
    def is_namespaced(self) -> bool:
        """Whether the object is namespaced; --namespace implies it."""
        return bool(self.namespaced or self.namespace)

    def build_metadata(self, noun: str) -> ObjectMeta:
        """Return the metadata, with a random name if none was given."""
        name = self.name
        if name is None:
            name = random_name(noun if self.is_namespaced else f"cluster{noun}")
        if not name:
            warn("--name is empty: the server rejects a manifest without a name")
        return ObjectMeta(name=name or None, namespace=self.namespace or None)


def scope_options(function: F) -> F:
    """Add the flags --name, --namespace and --namespaced to a command."""
    for option in (
        switch("--namespaced", help="Print the namespaced kind instead of the cluster-wide one."),
        click.option(
            "-n",
            "--namespace",
            default=global_namespace,
            help="Namespace in the manifest; implies --namespaced.",
        ),
        click.option("--name", help="Name of the object. [default: random]"),
    ):
        function = option(function)
    return function


def random_name(prefix: str) -> str:
    """Return the prefix with a random suffix of five characters, as in Kubernetes, such as `vm-x7k2p`."""
    return f"{prefix}-{''.join(secrets.choice(_ALPHABET) for _ in range(5))}"
