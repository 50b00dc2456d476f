"""
Map the configuration of a container image to the labels that inference reads.

As in CDI, the environment variable for a label is the label's key in upper case with underscores. If the variable is
not set, the image's label with this key is used. Values that cannot be used are reported and ignored.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher
from virtshape.api.validation.names import check_label_value
from virtshape.resolve.infer import INFERRED, KIND_KEYS, NAME_KEYS
from virtshape.resolve.matcher import KINDS, find_full_kind

MAX_SHOWN: Final = 100
"""Maximum number of characters of a value in a message."""


class ImageDefaults(Struct, frozen=True):
    """The labels for volumes that are imported from an image, and messages about values that are ignored."""

    labels: dict[str, str] = {}
    ignored: tuple[str, ...] = ()


def report_unreadable(reason: str) -> ImageDefaults:
    """Return a result without labels, with a message that the defaults of the image cannot be read."""
    return ImageDefaults(ignored=(f"the container image's defaults cannot be read: {reason}",))


def name_variable(label: str) -> str:
    """
    Return the name of the environment variable for the key of a label.

    >>> name_variable("instancetype.kubevirt.io/default-preference")
    'INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE'
    """
    return re.sub("[^A-Z0-9]", "_", label.upper())


def read_image_defaults(environment: Iterable[str], labels: Mapping[str, str]) -> ImageDefaults:
    """Return the labels with the default instance type and preference of an image; ignore a kind without a name."""
    variables = dict(variable.partition("=")[::2] for variable in environment)
    found: dict[str, str] = {}
    ignored: list[str] = []
    for role in INFERRED:
        pair = {
            key: value
            for key in (NAME_KEYS[role].label, KIND_KEYS[role].label)
            if (value := variables.get(name_variable(key)) or labels.get(key))
        }
        if NAME_KEYS[role].label not in pair:
            continue
        problems = [
            f"{key}={_shorten(value)}: {problem}" for key, value in pair.items() for problem in check_label_value(value)
        ]
        kind = pair.get(KIND_KEYS[role].label)
        if not problems and find_full_kind(InstancetypeMatcher(kind=kind), role) is None:
            kinds = KINDS[role]
            problems.append(f"{KIND_KEYS[role].label}={kind}: use {kinds.cluster} or {kinds.namespaced}")
        ignored += [f"the container image's default {problem}; it is ignored" for problem in problems]
        found |= {} if problems else pair
    return ImageDefaults(found, tuple(ignored))


def _shorten(value: str) -> str:
    return repr(value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}...")
