"""
Resource quotas for storage, with usage counted as in Kubernetes.

Quotas can limit claims and their requested storage (in total or by storage class), DataVolumes and snapshots. Limits on
other resources are stored but not enforced.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.quota import ResourceQuota
from virtshape.api.quantity import Quantity
from virtshape.engine.claims import class_name, requested_size

Usage = dict[str, int]
"""Amounts by resource name."""
_STORAGE: Final = "requests.storage"
CLAIMS: Final = "persistentvolumeclaims"
DATA_VOLUMES: Final = "datavolumes.cdi.kubevirt.io"
SNAPSHOTS: Final = "volumesnapshots.snapshot.storage.k8s.io"
COUNTED: Final = (CLAIMS, DATA_VOLUMES, SNAPSHOTS)
"""Resources whose number of objects a quota can limit with `count/RESOURCE`."""
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"


def is_counted(resource: str) -> bool:
    """Return True if limits on this quota resource are enforced."""
    _, of_class, what = resource.rpartition(_OF_CLASS)
    return what in (_STORAGE, CLAIMS) or (not of_class and resource in map(count_of, COUNTED))


def count_of(resource: str) -> str:
    """Return the name of the quota resource that counts objects: `count/RESOURCE`."""
    return f"count/{resource}"


def measure_claim(claim: PersistentVolumeClaim, default_class: str) -> Usage:
    """Return how much of a quota a claim uses; `default_class` is the class of a claim without a storage class."""
    size = (requested_size(claim) or Quantity("0")).value()
    used = {CLAIMS: 1, count_of(CLAIMS): 1, _STORAGE: size}
    stated = class_name(claim)
    if of := default_class if stated is None else stated:
        used |= {f"{of}{_OF_CLASS}{CLAIMS}": 1, f"{of}{_OF_CLASS}{_STORAGE}": size}
    return used


def add_usage(parts: Iterable[Mapping[str, int]]) -> Usage:
    """Return the sum of several usages, by resource."""
    total: Usage = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def list_limits(quota: ResourceQuota) -> dict[str, Quantity]:
    """Return the limits of a quota that are enforced, by resource; a quota with scopes is not enforced."""
    spec = quota.spec
    if spec is None or spec.scopes or spec.scope_selector is not None:
        return {}
    return {resource: limit for resource, limit in sorted((spec.hard or {}).items()) if is_counted(resource)}


def find_excess(quota: ResourceQuota, used: Mapping[str, int], requested: Mapping[str, int]) -> str:
    """Return kube-apiserver's message if used plus requested amounts exceed a quota, else an empty string."""
    limits = list_limits(quota)
    exceeded = [
        resource
        for resource, limit in limits.items()
        if requested.get(resource, 0) > 0 and used.get(resource, 0) + requested[resource] > limit.amount
    ]
    if not exceeded:
        return ""
    name = quota.metadata.name
    return (
        f"exceeded quota: {name}, requested: {_show(exceeded, requested)}, used: {_show(exceeded, used)}, "
        f"limited: {','.join(f'{resource}={limits[resource]}' for resource in exceeded)}"
    )


def _show(resources: Iterable[str], amounts: Mapping[str, int]) -> str:
    return ",".join(f"{resource}={format_amount(resource, amounts.get(resource, 0))}" for resource in resources)


def format_amount(resource: str, amount: int) -> Quantity:
    """Return an amount as a quantity: storage with a binary suffix, other amounts with a decimal suffix."""
    return Quantity.of(amount, "BinarySI" if resource.endswith(_STORAGE) else "DecimalSI")
