"""
Sizes of common instance types of AWS, Azure and GCP, by name: `aws:m5.large`, `azure:D4s_v5`, `gcp:n2-standard-8`.

The table has only vCPUs, memory and GPUs. Memory is in GiB, even if a cloud provider's documentation uses GB.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from typing import Final, NamedTuple

from virtshape.api.quantity import Quantity

CLOUDS: Final = ("aws", "azure", "gcp")
_MIB_PER_GIB: Final = 1024
_MAX_SUGGESTIONS: Final = 3
_MAX_SHOWN: Final = 100
"""Maximum number of characters of an unknown name that an error message repeats."""


class CloudSize(NamedTuple):
    """An instance type of a cloud provider, and its size."""

    name: str
    vcpus: int
    memory: Quantity
    gpus: int = 0


_AWS_GIB_PER_VCPU: Final = {
    **dict.fromkeys(("m5", "m5a", "m6i", "m6a", "m7i", "m7a"), 4),
    **dict.fromkeys(("c6i", "c6a", "c7i", "c7a"), 2),
    **dict.fromkeys(("r5", "r5a", "r6i", "r6a", "r7i", "r7a"), 8),
}
_AWS_VCPUS: Final = {
    "large": 2,
    "xlarge": 4,
    "2xlarge": 8,
    "4xlarge": 16,
    "8xlarge": 32,
    "12xlarge": 48,
    "16xlarge": 64,
    "24xlarge": 96,
}
"""Number of vCPUs, by size; all families in `_AWS_GIB_PER_VCPU` have these sizes."""
_AWS_BURSTABLE: Final = {
    "nano": (2, "0.5"),
    "micro": (2, "1"),
    "small": (2, "2"),
    "medium": (2, "4"),
    "large": (2, "8"),
    "xlarge": (4, "16"),
    "2xlarge": (8, "32"),
}
_AWS_OTHERS: Final = {
    "t2.nano": (1, "0.5", 0),
    "t2.micro": (1, "1", 0),
    "t2.small": (1, "2", 0),
    "t2.medium": (2, "4", 0),
    "t2.large": (2, "8", 0),
    "t2.xlarge": (4, "16", 0),
    "t2.2xlarge": (8, "32", 0),
    "c5.large": (2, "4", 0),
    "c5.xlarge": (4, "8", 0),
    "c5.2xlarge": (8, "16", 0),
    "c5.4xlarge": (16, "32", 0),
    "c5.9xlarge": (36, "72", 0),
    "c5.12xlarge": (48, "96", 0),
    "c5.18xlarge": (72, "144", 0),
    "c5.24xlarge": (96, "192", 0),
    "g4dn.xlarge": (4, "16", 1),
    "g4dn.2xlarge": (8, "32", 1),
    "g4dn.4xlarge": (16, "64", 1),
    "g4dn.8xlarge": (32, "128", 1),
    "g4dn.12xlarge": (48, "192", 4),
    "g4dn.16xlarge": (64, "256", 1),
    "g5.xlarge": (4, "16", 1),
    "g5.2xlarge": (8, "32", 1),
    "g5.4xlarge": (16, "64", 1),
    "g5.8xlarge": (32, "128", 1),
    "g5.12xlarge": (48, "192", 4),
    "g5.16xlarge": (64, "256", 1),
    "g5.24xlarge": (96, "384", 4),
    "g5.48xlarge": (192, "768", 8),
}
_AZURE_FAMILIES: Final = {
    **{
        f"D{{}}{suffix}": (4, (2, 4, 8, 16, 32, 48, 64))
        for suffix in ("_v3", "s_v3", "_v4", "s_v4", "_v5", "s_v5", "as_v4", "as_v5")
    },
    **{
        f"E{{}}{suffix}": (8, (2, 4, 8, 16, 20, 32, 48))
        for suffix in ("_v3", "s_v3", "_v4", "s_v4", "_v5", "s_v5", "as_v4", "as_v5")
    },
    "F{}s_v2": (2, (2, 4, 8, 16, 32, 48, 64, 72)),
}
"""GiB per vCPU and the available numbers of vCPUs, by name; `{}` in a name stands for the number of vCPUs."""
_AZURE_OTHERS: Final = {
    "B1ls": (1, "0.5", 0),
    "B1s": (1, "1", 0),
    "B1ms": (1, "2", 0),
    "B2s": (2, "4", 0),
    "B2ms": (2, "8", 0),
    "B4ms": (4, "16", 0),
    "B8ms": (8, "32", 0),
    "B12ms": (12, "48", 0),
    "B16ms": (16, "64", 0),
    "B20ms": (20, "80", 0),
    "NC4as_T4_v3": (4, "28", 1),
    "NC8as_T4_v3": (8, "56", 1),
    "NC16as_T4_v3": (16, "110", 1),
    "NC64as_T4_v3": (64, "440", 4),
}
_GCP_FAMILIES: Final = {
    "e2-standard": ("4", (2, 4, 8, 16, 32)),
    "e2-highmem": ("8", (2, 4, 8, 16)),
    "e2-highcpu": ("1", (2, 4, 8, 16, 32)),
    "n1-standard": ("3.75", (1, 2, 4, 8, 16, 32, 64, 96)),
    "n1-highmem": ("6.5", (2, 4, 8, 16, 32, 64, 96)),
    "n1-highcpu": ("0.9", (2, 4, 8, 16, 32, 64, 96)),
    "n2-standard": ("4", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128)),
    "n2-highmem": ("8", (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n2-highcpu": ("1", (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n2d-standard": ("4", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)),
    "c2-standard": ("4", (4, 8, 16, 30, 60)),
    "c3-standard": ("4", (4, 8, 22, 44, 88, 176)),
}
"""GiB per vCPU and the available numbers of vCPUs, by family; the number is appended to the name of the family."""
_GCP_OTHERS: Final = {
    "e2-micro": (2, "1", 0),
    "e2-small": (2, "2", 0),
    "e2-medium": (2, "4", 0),
    "a2-highgpu-1g": (12, "85", 1),
    "a2-highgpu-2g": (24, "170", 2),
    "a2-highgpu-4g": (48, "340", 4),
    "a2-highgpu-8g": (96, "680", 8),
    "g2-standard-4": (4, "16", 1),
    "g2-standard-8": (8, "32", 1),
    "g2-standard-12": (12, "48", 1),
    "g2-standard-16": (16, "64", 1),
    "g2-standard-24": (24, "96", 2),
    "g2-standard-32": (32, "128", 1),
    "g2-standard-48": (48, "192", 4),
    "g2-standard-96": (96, "384", 8),
}


def find_cloud_size(name: str) -> CloudSize | None:
    """Return the size with this name, such as `aws:m5.large`, or None; case and the prefix `Standard_` are ignored."""
    return _sizes_by_key().get(_normalize(name))


def list_cloud_sizes() -> list[CloudSize]:
    """Return all known sizes."""
    return list(_sizes_by_key().values())


def suggest_cloud_sizes(name: str) -> list[str]:
    """Return up to three names of known sizes that are similar to this name."""
    known = _sizes_by_key()
    wanted = _normalize(name)
    cloud = wanted.partition(":")[0]
    keys = [key for key in known if key.startswith(f"{cloud}:")] or list(known)
    return [known[key].name for key in get_close_matches(wanted, keys, n=_MAX_SUGGESTIONS)]


def explain_unknown_cloud_size(name: str) -> str:
    """Return the error message for a name that `find_cloud_size` does not know, with similar names if there are any."""
    shown = name[:_MAX_SHOWN]
    near = suggest_cloud_sizes(shown)
    known = f"must start with {', '.join(f'{cloud}:' for cloud in CLOUDS)} and name a common size"
    hint = f"did you mean {' or '.join(near)}?" if near else known
    return f'unknown instance type "{shown}"; {hint}'


def _normalize(name: str) -> str:
    return re.sub(r"^azure:standard_", "azure:", name.strip().lower())


@cache
def _sizes_by_key() -> dict[str, CloudSize]:
    return {_normalize(size.name): size for size in (*_list_aws(), *_list_azure(), *_list_gcp())}


def _list_aws() -> Iterator[CloudSize]:
    for family, ratio in _AWS_GIB_PER_VCPU.items():
        for size, vcpus in _AWS_VCPUS.items():
            yield CloudSize(f"aws:{family}.{size}", vcpus, _gib(vcpus * ratio))
    for family in ("t3", "t3a"):
        for size, (vcpus, gib) in _AWS_BURSTABLE.items():
            yield CloudSize(f"aws:{family}.{size}", vcpus, _gib(gib))
    yield from _list_others("aws", _AWS_OTHERS)


def _list_azure() -> Iterator[CloudSize]:
    for pattern, (ratio, sizes) in _AZURE_FAMILIES.items():
        for vcpus in sizes:
            yield CloudSize(f"azure:{pattern.format(vcpus)}", vcpus, _gib(vcpus * ratio))
    yield from _list_others("azure", _AZURE_OTHERS)


def _list_gcp() -> Iterator[CloudSize]:
    for family, (ratio, sizes) in _GCP_FAMILIES.items():
        for vcpus in sizes:
            yield CloudSize(f"gcp:{family}-{vcpus}", vcpus, _gib(vcpus * Decimal(ratio)))
    yield from _list_others("gcp", _GCP_OTHERS)


def _list_others(cloud: str, sizes: dict[str, tuple[int, str, int]]) -> Iterator[CloudSize]:
    for name, (vcpus, gib, gpus) in sizes.items():
        yield CloudSize(f"{cloud}:{name}", vcpus, _gib(gib), gpus)


def _gib(amount: Decimal | int | str) -> Quantity:
    return Quantity(f"{int(Decimal(amount) * _MIB_PER_GIB)}Mi")
