"""
Downward API files for guests: fields, resource requests and limits of the instance.

The functions are pure. The files have the same format as in Kubernetes' downward API volumes.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Final

from virtshape.api.core.podshared import DownwardAPIVolumeFile, ResourceFieldSelector
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.quantity import Quantity

_ENTRY: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


def read_downward_file(vmi: VirtualMachineInstance, file: DownwardAPIVolumeFile) -> str | None:
    """Return the content of a downward API file; None if its field or resource is unknown."""
    if file.field_ref is not None:
        return read_field(vmi, file.field_ref.field_path)
    return read_resource(vmi, file.resource_field_ref) if file.resource_field_ref is not None else None


def read_field(vmi: VirtualMachineInstance, path: str) -> str | None:
    """Return a field of the instance as a string; None if the field is unknown."""
    metadata = vmi.metadata
    entry = _ENTRY.fullmatch(path)
    if entry is not None:
        texts = metadata.labels if entry[1] == "labels" else metadata.annotations
        return (texts or {}).get(entry[2], "")
    match path:
        case "metadata.name":
            return metadata.name
        case "metadata.namespace":
            return metadata.namespace
        case "metadata.uid":
            return metadata.uid
        case "metadata.labels":
            return _write_lines(metadata.labels or {})
        case "metadata.annotations":
            return _write_lines(metadata.annotations or {})
        case "spec.nodeName":
            return (vmi.status.node_name if vmi.status else None) or ""
        case "spec.serviceAccountName":
            return vmi.spec.service_account_name or "default"
        case _:
            return None


def _write_lines(texts: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(texts.items()))


def read_resource(vmi: VirtualMachineInstance, wanted: ResourceFieldSelector) -> str | None:
    """Return a request or limit in units of the divisor, rounded up; None if it is not set."""
    which, _, name = wanted.resource.partition(".")
    resources = vmi.spec.domain.resources
    amounts: Mapping[str, Quantity] = {}
    if resources is not None:
        amounts = (resources.limits if which == "limits" else resources.requests) or {}
    if which not in ("limits", "requests") or name not in amounts:
        return None
    unit = wanted.divisor.bounded_amount if wanted.divisor is not None and not wanted.divisor.is_zero() else 1
    return str(math.ceil(amounts[name].bounded_amount / unit))
