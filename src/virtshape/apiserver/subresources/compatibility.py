"""
Check which instance types and preferences can be used together. Nothing is stored.

The body names instance types, preferences or both. An absent list means all that the namespace can use.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final, NamedTuple

import msgspec

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.compatibility import check_compatibility
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.explain import Problem, describe_problems
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, KINDS, Role, full_kind
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import Search

MAX_NAMED: Final = 25
MAX_PAIRS: Final = 5000


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instance type or preference by name; the kind is the cluster-wide one unless given."""

    name: str
    kind: str = ""


class CompatibilityRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request; an absent list means all."""

    instancetypes: list[Named] | None = None
    preferences: list[Named] | None = None


class CompatibilityItem(msgspec.Struct):
    """An instance type and a preference, whether they can be used together, and the problems if not."""

    instancetype: Named
    preference: Named
    compatible: bool
    problems: list[Problem]


class CompatibilityList(msgspec.Struct):
    """The pairs of a request, ordered by instance type."""

    items: list[CompatibilityItem]


class CompatibilityInputs(NamedTuple):
    """The objects to compare, and the architecture of VMs that set none."""

    instancetypes: Sequence[tuple[Named, VirtualMachineInstancetypeSpec]]
    preferences: Sequence[tuple[Named, VirtualMachinePreferenceSpec]]
    architecture: str

    def check(self) -> Iterator[CompatibilityItem]:
        """Yield the result for each pair."""
        for (size_name, size), (preference_name, preference) in product(self.instancetypes, self.preferences):
            problems = check_compatibility(size, preference, self.architecture)
            yield CompatibilityItem(size_name, preference_name, not problems, describe_problems(problems))


def read_compatibility_request(body: bytes) -> CompatibilityRequest:
    """Return the request in a body; raise StatusError 400 if it is invalid."""
    try:
        request = msgspec.json.decode(body, type=CompatibilityRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StatusError(400, "BadRequest", f"Can not unmarshal Request body to struct, error: {error}") from None
    if request.instancetypes is None and request.preferences is None:
        raise StatusError(400, "BadRequest", "set instancetypes, preferences or both")
    for field, named in (("instancetypes", request.instancetypes), ("preferences", request.preferences)):
        if named is not None and len(named) > MAX_NAMED:
            message = f"must have at most {MAX_NAMED} items"
            raise StatusError(400, "BadRequest", f"{field}: {message}", [FieldError(field, message)])
    return request


def search_compatibility(request: CompatibilityRequest, namespace: str, known: Finder) -> Search[CompatibilityInputs]:
    """Find the objects that a request names; for an absent list, use all objects in `known`."""
    configuration = read_configuration((yield CONFIGURATION))
    instancetypes, preferences = [], []
    for named, found in (yield from _search_all("instancetype", request.instancetypes, namespace, known)):
        size = instancetype_spec(found)
        if size is not None:
            instancetypes.append((named, size))
    for named, found in (yield from _search_all("preference", request.preferences, namespace, known)):
        preference = preference_spec(found)
        if preference is not None:
            preferences.append((named, preference))
    if len(instancetypes) * len(preferences) > MAX_PAIRS:
        raise StatusError(400, "BadRequest", f"more than {MAX_PAIRS} pairs: name fewer instance types or preferences")
    return CompatibilityInputs(instancetypes, preferences, default_architecture(configuration))


def _search_all(
    role: Role, wanted: list[Named] | None, namespace: str, known: Finder
) -> Search[list[tuple[Named, Model | None]]]:
    if wanted is None:
        return list(islice(_list_known(role, namespace, known), MAX_PAIRS + 1))
    found: list[tuple[Named, Model | None]] = []
    for index, named in enumerate(dict.fromkeys(wanted)):
        kind = full_kind(InstancetypeMatcher(name=named.name, kind=named.kind), role)
        where = "" if kind == KINDS[role].cluster else namespace
        reference = Reference(INSTANCETYPE_GROUP, kind, where, named.name)
        answer = yield reference
        if answer is None:
            raise NotFoundError(reference, f"{role}s[{index}].name")
        found.append((Named(named.name, kind), answer))
    return found


def _list_known(role: Role, namespace: str, known: Finder) -> Iterator[tuple[Named, Model | None]]:
    kinds = KINDS[role]
    for kind, where in ((kinds.cluster, ""), (kinds.namespaced, namespace)):
        for name in sorted(known.list_names(INSTANCETYPE_GROUP, kind, where)):
            yield Named(name, kind), known.find(Reference(INSTANCETYPE_GROUP, kind, where, name))
