"""
Resource quotas for storage: usage as Kubernetes counts it.

Claims, the storage that they request (also by storage class), DataVolumes and snapshots are counted. Limits on other
resources are stored but not enforced.
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
"""Resources that quotas of the form `count/RESOURCE` can limit."""
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"


def is_counted(resource: str) -> bool:
    """Return True if limits on this quota resource are enforced."""
    _, of_class, what = resource.rpartition(_OF_CLASS)
    return what in (_STORAGE, CLAIMS) or (not of_class and resource in map(count_of, COUNTED))


def count_of(resource: str) -> str:
    """Return the quota resource for the number of objects: `count/RESOURCE`."""
    return f"count/{resource}"


def measure_claim(claim: PersistentVolumeClaim, default_class: str) -> Usage:
    """Return the usage of a claim; `default_class` is its storage class if it names none."""
    size = (requested_size(claim) or Quantity("0")).value()
    used = {CLAIMS: 1, count_of(CLAIMS): 1, _STORAGE: size}
    stated = class_name(claim)
    if of := default_class if stated is None else stated:
        used |= {f"{of}{_OF_CLASS}{CLAIMS}": 1, f"{of}{_OF_CLASS}{_STORAGE}": size}
    return used


def add_usage(parts: Iterable[Mapping[str, int]]) -> Usage:
    """Return the sum of several usages."""
    total: Usage = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def list_limits(quota: ResourceQuota) -> dict[str, Quantity]:
    """Return the enforced limits of a quota; a quota with scopes has none."""
    spec = quota.spec
    if spec is None or spec.scopes or spec.scope_selector is not None:
        return {}
    return {resource: limit for resource, limit in sorted((spec.hard or {}).items()) if is_counted(resource)}


def find_excess(quota: ResourceQuota, used: Mapping[str, int], requested: Mapping[str, int]) -> str:
    """Return kube-apiserver's message if a request exceeds a quota, else an empty string."""
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
    """Return an amount as quotas show it: storage with binary suffixes, counts with decimal suffixes."""
    return Quantity.of(amount, "BinarySI" if resource.endswith(_STORAGE) else "DecimalSI")
