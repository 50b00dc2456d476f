"""Imported volumes of a new VM: `--volume-import` and the deprecated flags that it replaced."""

from collections.abc import Mapping, Sequence

from virtshape.api.cdi import StorageSpec
from virtshape.api.core.claimspec import VolumeResourceRequirements
from virtshape.api.kubevirt.virtualmachine import DataVolumeTemplateSpec
from virtshape.api.kubevirt.volume import DataVolumeVolumeSource, Volume
from virtshape.api.meta import ObjectMeta
from virtshape.cli.create.parameters import ParameterError, find_parameter, parse_parameters
from virtshape.cli.create.scope import random_name
from virtshape.cli.create.sources import TYPES
from virtshape.cli.create.volumes import Volumes
from virtshape.cli.errors import suggest

# In reverse boot order: volumes of a later flag boot before those of an earlier one.
OLDER_FLAGS = {"--volume-datasource": "ds", "--volume-clone-pvc": "pvc", "--volume-blank": "blank"}


def gather_imports(imports: Sequence[str], older: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return all imports as (flag, text), in boot order."""
    gathered = [("--volume-import", text) for text in imports]
    for flag, kind in OLDER_FLAGS.items():
        for text in older[flag]:
            gathered.insert(0, (flag, f"type:{kind},{text}" if text else ""))
    return gathered


def add_import(volumes: Volumes, text: str) -> None:
    """Add an imported or blank volume and its DataVolume template."""
    parameters = parse_parameters(text, TYPES[_read_type(text)])
    spec = parameters.spec()
    requests = {"storage": parameters.size} if parameters.size is not None else None
    spec.storage = StorageSpec(resources=VolumeResourceRequirements(requests=requests))
    name = parameters.name or random_name("imported-volume")
    volumes.add(
        Volume(name=name, data_volume=DataVolumeVolumeSource(name=name)),
        parameters.bootorder,
        DataVolumeTemplateSpec(metadata=ObjectMeta(name=name), spec=spec),
    )


def _read_type(text: str) -> str:
    kind = find_parameter(text, "type")
    if kind is None:
        raise ParameterError(f"type is required: must be one of {', '.join(TYPES)}")
    if kind not in TYPES:
        hint = suggest(kind, TYPES) or f"; must be one of {', '.join(TYPES)}"
        raise ParameterError(f'type: unknown value "{kind}"{hint}')
    return kind
