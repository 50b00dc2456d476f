"""Clones across namespaces need permission, for every kind of reference."""

from pathlib import Path

import pytest
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.objects import object_from_tree
from tests.support.storage import claim_tree, volume_tree, wait_for_volume

from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import AUTHENTICATED, User
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocesstransport import connect

BOB = User("bob", (AUTHENTICATED,))
FAR: JsonObject = {"pvc": {"name": "golden", "namespace": "images"}}


def namespace_tree(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def binding_tree(role: str, namespace: str, subject: dict[str, str]) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{role}-{subject['name']}", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}


def source_tree(source: JsonObject) -> JsonObject:
    metadata = {"name": "source", "namespace": "default"}
    kind = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource"}
    return {**kind, "metadata": metadata, "spec": {"source": source}}


REQUESTS = {
    "claim": volume_tree("copy", source=FAR),
    "snapshot": volume_tree("copy", source={"snapshot": {"name": "s", "namespace": "images"}}),
    "data source": volume_tree("copy", sourceRef={"kind": "DataSource", "name": "image", "namespace": "images"}),
    "missing data source": volume_tree("copy", sourceRef={"kind": "DataSource", "name": "no", "namespace": "images"}),
    "new data source": source_tree(FAR),
    "alias": source_tree({"dataSource": {"name": "image", "namespace": "images"}}),
    "VM": vm_tree(
        "copy",
        template={"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]},
        dataVolumeTemplates=[{"metadata": {"name": "root"}, "spec": volume_tree(source=FAR)["spec"]}],
    ),
}


async def prepare(system: ControlledSystem) -> RestClient:
    """Create an image in the namespace `images`; return a client for a user who may edit only `default`."""
    image: JsonObject = source_tree(FAR) | {"metadata": {"name": "image", "namespace": "images"}}
    golden = claim_tree("golden") | {"metadata": {"name": "golden", "namespace": "images"}}
    await system.create(namespace_tree("images"), golden, image, instancetype_tree(), preference_tree())
    await system.create(binding_tree("edit", "default", user("bob")))
    return connect(system.server, BOB)


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
async def test_clone_without_permission_is_rejected(tmp_path: Path, asked: JsonObject) -> None:
    async with open_controlled_system(tmp_path) as system:
        bob = await prepare(system)
        with pytest.raises(StatusError, match="insufficient permissions in clone source namespace images") as refused:
            await bob.create(object_from_tree(asked))
        assert refused.value.code == 403
        await system.create(binding_tree("view", "images", user("bob")))
        await bob.create(object_from_tree(asked))


async def test_vm_clones_with_the_permissions_of_its_service_account(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        bob = await prepare(system)
        account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
        await system.create(binding_tree("view", "images", account))
        await bob.create(object_from_tree(REQUESTS["VM"]))
        with pytest.raises(StatusError):
            await bob.create(object_from_tree(REQUESTS["claim"]))


async def test_permitted_clone_across_namespaces_is_created(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await prepare(system)
        await system.create(volume_tree("copy", source=FAR))
        await wait_for_volume(system, "copy")
        assert len((await system.client.list(PersistentVolume)).items) == 2
