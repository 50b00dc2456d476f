"""Examples of the inference design: one annotated claim, referenced in four ways."""

from typing import Any

import pytest
from tests.support.admission import check_vm, mutate_vm
from tests.support.build import build_instancetype, build_preference, build_source, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

CLAIM = build_source(
    "PersistentVolumeClaim",
    "cirros",
    annotations={
        "instancetype.kubevirt.io/defaultInstancetype": "server.tiny",
        "instancetype.kubevirt.io/defaultPreference": "cirros",
    },
)
SIZE: JsonObject = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
COPY: JsonObject = {"pvc": SIZE, "source": {"pvc": {"name": "cirros", "namespace": "default"}}}
REFERENCE: JsonObject = {"pvc": SIZE, "sourceRef": {"kind": "DataSource", "name": "cirros", "namespace": "default"}}
OF_CLAIM: JsonObject = {"persistentVolumeClaim": {"claimName": "cirros"}}
OF_DATA_VOLUME: JsonObject = {"dataVolume": {"name": "cirros-dv"}}
CATALOGUE = [
    build_instancetype("server.tiny", version="v1beta1", cpu={"guest": 1}, memory={"guest": "1536Mi"}),
    build_preference("cirros", version="v1beta1", devices={"preferredDiskBus": "virtio"}),
]


@pytest.mark.parametrize(
    ("volume", "templates", "sources"),
    [
        pytest.param(OF_CLAIM, [], [], id="from an existing claim"),
        pytest.param(OF_DATA_VOLUME, [], [build_source("DataVolume", "cirros-dv", **COPY)], id="through a data volume"),
        pytest.param(OF_DATA_VOLUME, [COPY], [], id="through a data volume template"),
        pytest.param(
            OF_DATA_VOLUME,
            [REFERENCE],
            [build_source("DataSource", "cirros", source=COPY["source"])],
            id="through a data volume template and a data source",
        ),
    ],
)
def test_instancetype_and_preference_are_inferred(
    volume: JsonObject, templates: list[JsonObject], sources: list[Any]
) -> None:
    vm = build_vm(
        name="cirros",
        instancetype={"inferFromVolume": "cirros-disk"},
        preference={"inferFromVolume": "cirros-disk"},
        runStrategy=None,
        running=True,
        template={"volumes": [{**volume, "name": "cirros-disk"}]},
        dataVolumeTemplates=[{"metadata": {"name": "cirros-dv"}, "spec": spec} for spec in templates],
    )
    objects = Objects([CLAIM, *sources, *CATALOGUE])
    assert mutate_vm(vm, objects).warnings == []
    assert to_tree(vm.spec.instancetype) == {"kind": "virtualmachineclusterinstancetype", "name": "server.tiny"}
    assert to_tree(vm.spec.preference) == {"kind": "virtualmachineclusterpreference", "name": "cirros"}
    assert check_vm(vm, get_shape(vm, objects.find)) == []
