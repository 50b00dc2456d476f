"""
Where a new instance type or preference is to live: in one namespace, or in the whole cluster.

A namespace that is named settles it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from virtshape.api.meta import ObjectMeta
from virtshape.cli.command import switch
from virtshape.cli.connection import stated_namespace
from virtshape.cli.create.naming import random_name
from virtshape.cli.errors import warn

F = TypeVar("F", bound=Callable[..., Any])


class Scope(NamedTuple):
    """The name and namespace that were given; None is what was not."""

    name: str | None
    namespace: str | None
    namespaced: bool | None

    @property
    def is_namespaced(self) -> bool:
        """Whether the object lives in a namespace."""
        return bool(self.namespaced or self.namespace)

    def build_metadata(self, noun: str) -> ObjectMeta:
        """Build the metadata, with a random name if none was given."""
        name = self.name
        if name is None:
            name = random_name(noun if self.is_namespaced else f"cluster{noun}")
        if not name:
            warn("--name is empty: no server will take a manifest without a name")
        return ObjectMeta(name=name or None, namespace=self.namespace or None)


def scope_options(function: F) -> F:
    """Give a command the flags --name, --namespace and --namespaced."""
    for option in (
        switch("--namespaced", help="Print the kind that lives in a namespace, in place of the cluster-wide one."),
        click.option(
            "-n",
            "--namespace",
            default=stated_namespace,
            help="The namespace to write into the manifest; implies --namespaced.",
        ),
        click.option("--name", help="The name; random if not given."),
    ):
        function = option(function)
    return function
