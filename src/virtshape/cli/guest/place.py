"""
Which guest a word on the command line means: `vmi/web`, `vm/web/team`, `jdoe@vmi/web`.

Pure: reads words.
"""

from typing import NamedTuple

from virtshape.cli.errors import NotUnderstood
from virtshape.cli.guest.instance import read_kind

_RESOURCES = {"vm": "virtualmachines", "vmi": "virtualmachineinstances"}


class Place(NamedTuple):
    """A guest: `vm` or `vmi`, its name, its namespace if one was named, and who to be there."""

    kind: str
    name: str
    namespace: str = ""
    user: str = ""

    @property
    def resource(self) -> str:
        """The kind as the API's paths have it."""
        return _RESOURCES[self.kind]


def parse_place(text: str, *, default_kind: str = "") -> Place:
    """Read `[USER@][TYPE/]NAME[/NAMESPACE]`; a name's last dot also parts it from a namespace, as it once did."""
    user, _, place = text.rpartition("@")
    parts = place.split("/")
    if len(parts) == 1 and default_kind:
        parts = [default_kind, *parts]
    if len(parts) == 2 and "." in parts[1]:
        name, _, namespace = parts[1].rpartition(".")
        parts = [parts[0], name, namespace]
    if len(parts) not in (2, 3) or not all(parts):
        words = f'"{text}" names no guest: its type and name are parted by a slash'
        raise NotUnderstood(words, next_step="For example: vmi/web, or vm/web/NAMESPACE")
    kind, name, *rest = parts
    return Place(read_kind(kind), name, rest[0] if rest else "", user)
