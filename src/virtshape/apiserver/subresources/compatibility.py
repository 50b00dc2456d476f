"""
Check which instance types and preferences can be used together. Nothing is stored.

The body lists instance types, preferences or both. An absent list means all objects that the namespace can use.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.compatibility import NamedInstancetype, NamedPreference, NamedSpec, Pair, check_pairs
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.explain import Problem, describe_problems
from virtshape.apiserver.subresources.named import Named, read_body, require_few, search_listed
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.search import Search

MAX_PAIRS: Final = 5000


class CompatibilityRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The objects to check: one or both lists. An absent list means all objects that the namespace can use."""

    instancetypes: list[Named] | None = None
    """The instance types to check; if absent, all instance types."""
    preferences: list[Named] | None = None
    """The preferences to check; if absent, all preferences."""


class CompatibilityItem(msgspec.Struct):
    """An instance type and a preference, whether they can be used together, and the problems if not."""

    instancetype: Named
    """The instance type of the pair."""
    preference: Named
    """The preference of the pair."""
    compatible: bool
    """True if the instance type and the preference can be used together."""
    problems: list[Problem]
    """The reasons why they cannot be used together."""


class CompatibilityList(msgspec.Struct):
    """The results for all pairs, ordered by instance type."""

    items: list[CompatibilityItem]
    """One item for each pair."""


class CompatibilityInputs(NamedTuple):
    """The objects to check, and the architecture to assume for VMs that do not set one."""

    instancetypes: Sequence[NamedInstancetype]
    preferences: Sequence[NamedPreference]
    architecture: str

    def check(self) -> Iterator[CompatibilityItem]:
        """Yield the result for each pair of instance type and preference."""
        yield from map(_describe_pair, check_pairs(self.instancetypes, self.preferences, self.architecture))


def read_compatibility_request(body: bytes) -> CompatibilityRequest:
    """Return the request in a body; raise StatusError 400 if the request is invalid."""
    request = read_body(body, CompatibilityRequest)
    if request.instancetypes is None and request.preferences is None:
        raise StatusError(400, "BadRequest", "set instancetypes, preferences or both")
    require_few("instancetypes", request.instancetypes)
    require_few("preferences", request.preferences)
    return request


def search_compatibility(request: CompatibilityRequest, namespace: str, known: Finder) -> Search[CompatibilityInputs]:
    """
    Find the objects that a request lists; for an absent list, use all objects in `known`.

    Raise StatusError if an object does not exist or there are too many pairs.
    """
    configuration = read_configuration((yield CONFIGURATION))
    instancetypes, preferences = [], []
    for named, found in (yield from search_listed("instancetype", request.instancetypes, namespace, known)):
        size = instancetype_spec(found)
        if size is not None:
            instancetypes.append(NamedSpec(named.kind, named.name, "", size, read_lifecycle(found.metadata)))
    for named, found in (yield from search_listed("preference", request.preferences, namespace, known)):
        preference = preference_spec(found)
        if preference is not None:
            preferences.append(NamedSpec(named.kind, named.name, "", preference, read_lifecycle(found.metadata)))
    if len(instancetypes) * len(preferences) > MAX_PAIRS:
        raise StatusError(400, "BadRequest", f"more than {MAX_PAIRS} pairs: name fewer instance types or preferences")
    return CompatibilityInputs(instancetypes, preferences, default_architecture(configuration))


def _describe_pair(pair: Pair) -> CompatibilityItem:
    instancetype, preference = (Named(each.name, each.kind) for each in (pair.instancetype, pair.preference))
    return CompatibilityItem(instancetype, preference, not pair.problems, describe_problems(pair.problems))
