"""Recommend instance types for the needs in a request body, those with the least waste first. Nothing is stored."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from msgspec import Struct

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.recommend import Miss, Need, Offer, RecommendedInstancetype, describe_offer, recommend
from virtshape.admission.recommendneeds import (
    DEFAULT_HEADROOM,
    MAX_HEADROOM,
    Usage,
    check_usage,
    need_like,
    need_of_usage,
    override_need,
)
from virtshape.api.codec import encode
from virtshape.api.fielderror import FieldError
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.named import Named, read_body, search_listed, search_named
from virtshape.engine.cloudsizes import explain_unknown_cloud_size, find_cloud_size
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.search import Search

MAX_ITEMS: Final = 1000
MAX_MISSED: Final = 3
_MAX_VCPUS: Final = 2**32 - 1


class RecommendRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """The requirements of a VM; an absent field means that any value is accepted."""

    cpu_min: int | None = None
    """The minimum number of vCPUs."""
    cpu_max: int | None = None
    """The maximum number of vCPUs."""
    memory_min: Quantity | None = None
    """The minimum memory, such as 4Gi."""
    memory_max: Quantity | None = None
    """The maximum memory."""
    dedicated: bool | None = None
    """True to require dedicated CPUs, false to exclude them."""
    hugepages: bool | None = None
    """True to require huge pages, false to exclude them."""
    gpus: int = 0
    """The minimum number of GPUs."""
    preference: Named | None = None
    """The preference whose requirements must be met."""
    max_waste: int | None = None
    """The maximum share of the vCPUs and of the memory that the VM may leave unused, in percent."""
    usage: Usage | None = None
    """The measured usage of the VM, to which the headroom is added; cpuMin and memoryMin take precedence."""
    headroom: int | None = None
    """The percentage to add to the usage, 20 by default."""
    like: str | None = None
    """A cloud's instance type of the needed size, such as aws:m5.large; cpuMin, memoryMin and gpus take precedence."""
    custom: bool = False
    """True to include instance types that leave sizes to the VM, each with the smallest size that it allows."""


class MissedInstancetype(Struct):
    """An instance type that does not meet the requested needs."""

    kind: str
    """The kind of the instance type."""
    name: str
    """The name of the instance type."""
    reasons: list[str]
    """The reasons why it does not meet the requested needs."""


class RecommendationList(Struct):
    """Instance types that meet the requested needs, those with the least waste first."""

    items: list[RecommendedInstancetype]
    """The instance types that meet the requested needs, at most 1000."""
    closest: list[MissedInstancetype]
    """The three closest instance types, with the reasons why they do not fit; set only if no instance type fits."""


def read_recommend_request(body: bytes) -> RecommendRequest:
    """Return the request in a body; raise StatusError 400 with all problems if the request is invalid."""
    request = read_body(body or b"{}", RecommendRequest)
    problems = [*_check_range(request), *_check_bounds(request), *_check_sources(request)]
    if problems:
        raise StatusError(400, "BadRequest", "; ".join(f"{one.field}: {one.message}" for one in problems), problems)
    return request


def _check_bounds(request: RecommendRequest) -> list[FieldError]:
    bounds = (
        ("cpuMin", request.cpu_min, 1, _MAX_VCPUS),
        ("cpuMax", request.cpu_max, 1, _MAX_VCPUS),
        ("gpus", request.gpus, 0, _MAX_VCPUS),
        ("maxWaste", request.max_waste, 0, 100),
        ("headroom", request.headroom, 0, MAX_HEADROOM),
    )
    return [
        FieldError(field, f"must be from {least} to {most}")
        for field, value, least, most in bounds
        if value is not None and not least <= value <= most
    ]


def _check_range(request: RecommendRequest) -> list[FieldError]:
    problems = []
    if request.cpu_min is not None and request.cpu_max is not None and request.cpu_min > request.cpu_max:
        problems.append(FieldError("cpuMin", "must not be greater than cpuMax"))
    least, most = request.memory_min, request.memory_max
    if least is not None and most is not None and least.amount > most.amount:
        problems.append(FieldError("memoryMin", "must not be greater than memoryMax"))
    return problems


def _check_sources(request: RecommendRequest) -> Iterator[FieldError]:
    if request.usage is not None:
        for problem in check_usage(request.usage):
            yield problem._replace(field=f"usage.{problem.field}" if problem.field else "usage")
    elif request.headroom is not None:
        yield FieldError("headroom", "requires usage")
    if request.like is not None and request.usage is not None:
        yield FieldError("like", "cannot be combined with usage")
    if request.like is not None and find_cloud_size(request.like) is None:
        yield FieldError("like", explain_unknown_cloud_size(request.like))


def search_recommendation(request: RecommendRequest, namespace: str, known: Finder) -> Search[bytes]:
    """Return the recommendation as JSON; raise StatusError if the preference does not exist."""
    preference = None
    if request.preference is not None:
        _, found = yield from search_named("preference", request.preference, namespace, "preference")
        preference = preference_spec(found)
    configuration = read_configuration((yield CONFIGURATION))
    need = _find_need(request)._replace(preference=preference, architecture=default_architecture(configuration))
    offers = []
    for named, found in (yield from search_listed("instancetype", None, namespace, known)):
        spec = instancetype_spec(found)
        if spec is not None and read_lifecycle(found.metadata).state == "active":
            offers.append(Offer(named.kind, named.name, spec))
    fitting, missing = recommend(offers, need, with_custom=request.custom)
    items = [describe_offer(offer, need) for offer in fitting[:MAX_ITEMS]]
    closest = [] if fitting else [_describe_miss(miss) for miss in missing[:MAX_MISSED]]
    return encode(RecommendationList(items, closest))


def _find_need(request: RecommendRequest) -> Need:
    """Return the need from the cloud's instance type or the usage, replaced by the fields that the request sets."""
    stated = Need(
        request.cpu_min,
        request.cpu_max,
        request.memory_min,
        request.memory_max,
        request.dedicated,
        request.hugepages,
        request.gpus,
        max_waste=None if request.max_waste is None else Decimal(request.max_waste) / 100,
    )
    size = None if request.like is None else find_cloud_size(request.like)
    if size is not None:
        return override_need(need_like(size), stated)
    if request.usage is not None:
        percent = DEFAULT_HEADROOM if request.headroom is None else request.headroom
        return override_need(need_of_usage(request.usage, Decimal(percent) / 100), stated)
    return stated


def _describe_miss(miss: Miss) -> MissedInstancetype:
    return MissedInstancetype(miss.offer.kind, miss.offer.name, miss.reasons)
