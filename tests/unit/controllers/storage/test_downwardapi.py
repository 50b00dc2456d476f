"""Content of downward API files."""

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree
from virtshape.api.core.podshared import DownwardAPIVolumeFile
from virtshape.api.model import JsonObject
from virtshape.controllers.storage.downwardapi import read_downward_file

VMI = build_vmi(
    annotations={"note": 'a "b"', "z": "1"},
    domain={
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"memory": "3Gi", "x": "1e10000001"}}
    },
)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"fieldRef": {"fieldPath": "metadata.name"}}, "vm1"),
        ({"fieldRef": {"fieldPath": "metadata.namespace"}}, "default"),
        ({"fieldRef": {"fieldPath": "metadata.uid"}}, "i1"),
        ({"fieldRef": {"fieldPath": "metadata.labels"}}, ""),
        ({"fieldRef": {"fieldPath": "metadata.annotations"}}, 'note="a \\"b\\""\nz="1"'),
        ({"fieldRef": {"fieldPath": "metadata.annotations['z']"}}, "1"),
        ({"fieldRef": {"fieldPath": "metadata.labels['none']"}}, ""),
        ({"fieldRef": {"fieldPath": "spec.nodeName"}}, ""),
        ({"fieldRef": {"fieldPath": "spec.serviceAccountName"}}, "default"),
        ({"fieldRef": {"fieldPath": "status.podIP"}}, None),
        ({"resourceFieldRef": {"resource": "requests.cpu"}}, "2"),
        ({"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}, "1500"),
        ({"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}, "1024"),
        ({"resourceFieldRef": {"resource": "limits.memory"}}, str(3 << 30)),
        ({"resourceFieldRef": {"resource": "limits.x"}}, str(2**63 - 1)),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, None),
        ({"resourceFieldRef": {"resource": "other.cpu"}}, None),
        ({}, None),
    ],
)
def test_downward_api_files_contain_the_selected_fields(field: JsonObject, text: str | None) -> None:
    assert read_downward_file(VMI, from_tree({"path": "file", **field}, DownwardAPIVolumeFile)) == text
