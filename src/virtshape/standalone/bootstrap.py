"""
Default objects of a data directory: namespaces, roles, storage classes, the catalog, the address for uploads.

Missing objects are created at every start, and existing objects are left unchanged.
"""

from collections.abc import Iterable
from importlib.metadata import version
from typing import Final

from msgspec.structs import replace

from virtshape import catalog
from virtshape.api.cdi import CDIConfig, CDIConfigSpec, CDIConfigStatus
from virtshape.api.codec import decode, to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.times import now
from virtshape.api.wellknown import DEFAULT_CLASS, KUBEVIRT, NAMESPACE_NAME_LABEL
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager as Authorship
from virtshape.apiserver.managedfields.managedfields import record_update
from virtshape.apiserver.objectmetadata import assemble, initialize_object, make_write
from virtshape.apiserver.resource import resource_of
from virtshape.client.protocol import Client
from virtshape.controllers.commoninstancetypes import is_catalog_enabled
from virtshape.standalone.kubevirtdeployments import COMPONENTS, build_deployment
from virtshape.standalone.storage.layout import PROVISIONER
from virtshape.store.store import Store
from virtshape.store.writer import Write

CDI_CONFIG: Final = "config"

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system", KUBEVIRT)
STORAGE_CLASSES: Final = "storageclasses.storage.k8s.io"
DEFAULT_STORAGE_CLASS: Final = "local"
BINDING_MODES: Final = {DEFAULT_STORAGE_CLASS: "Immediate", "local-wffc": "WaitForFirstConsumer"}
MANAGER: Final = "virtshape"
IMAGE: Final = f"virtshape:{version('virtshape')}"


async def install_defaults(store: Store, *, with_catalog: bool) -> None:
    """Create all missing default objects in one commit."""
    moment = now()
    trees = [_namespace(name) for name in NAMESPACES]
    trees.append(_configuration(moment))
    trees += [build_deployment(name, IMAGE) for name in COMPONENTS]
    trees += [to_tree(item) for item in (*build_roles(), *build_bindings())]
    if not store.list(STORAGE_CLASSES).records:  # if any exist, an administrator may have deleted the missing ones
        trees += [_storage_class(name, mode) for name, mode in BINDING_MODES.items()]
    if with_catalog and is_catalog_enabled(_find_configuration(store)):
        trees += [to_tree(item) for item in catalog.load()]
    writes = list(_missing(store, trees, moment))
    if writes:
        await store.write_all(writes)


def _namespace(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {NAMESPACE_NAME_LABEL: name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _storage_class(name: str, binding_mode: str) -> JsonObject:
    """Return a storage class for volumes in the data directory."""
    annotations = {DEFAULT_CLASS[0]: "true"} if name == DEFAULT_STORAGE_CLASS else None
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name} | ({"annotations": annotations} if annotations else {}),
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": binding_mode,
        "allowVolumeExpansion": True,
    }


def _configuration(moment: str) -> JsonObject:
    """Return the KubeVirt object with the default configuration and the status of a finished deployment."""
    state = {"Available": "True", "Created": "True", "Progressing": "False", "Degraded": "False"}
    conditions = [
        {"type": fact, "status": status, "reason": "AllComponentsReady", "lastTransitionTime": moment}
        for fact, status in state.items()
    ]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": KUBEVIRT, "namespace": KUBEVIRT},
        "spec": {"configuration": {}},
        "status": {"phase": "Deployed", "conditions": conditions},
    }


def _find_configuration(store: Store) -> KubeVirtConfiguration | None:
    kind = find_kind("kubevirt.io/v1", "KubeVirt")
    record = store.get(resource_of(kind).key(KUBEVIRT, KUBEVIRT)) if kind is not None else None
    return decode(record.value, KubeVirt).spec.configuration if record is not None else None


def _missing(store: Store, trees: Iterable[JsonObject], moment: str) -> Iterable[Write]:
    for tree in trees:
        kind = find_kind(tree["apiVersion"], tree["kind"])
        if kind is not None:
            metadata = tree["metadata"]
            key = resource_of(kind).key(metadata.get("namespace") or "", metadata["name"])
            if store.get(key) is None:
                yield make_write(key, 0, build_new_object(kind, tree, moment))


def build_new_object(kind: Kind, tree: JsonObject, moment: str) -> JsonObject:
    """Return a new object with the metadata that the server sets."""
    metadata = tree["metadata"]
    new = initialize_object(resource_of(kind), tree, metadata.get("namespace") or "", metadata["name"], moment)
    entries = record_update(None, new, Authorship(MANAGER, kind.api_version, moment), object_type(kind))
    return assemble(new, {**new["metadata"], "managedFields": entries})


async def publish_upload_proxy(client: Client, url: str, authority: str) -> None:
    """Set the upload address and its CA certificate (PEM) in the status of CDI's configuration."""
    config = await _ensure_config(client)
    status = CDIConfigStatus(upload_proxy_url=url, upload_proxy_ca=authority)
    if config.status != status:
        await client.update_status(replace(config, status=status))


async def _ensure_config(client: Client) -> CDIConfig:
    try:
        return await client.get(CDIConfig, CDI_CONFIG)
    except StatusError as error:
        if error.code != 404:
            raise
    return await client.create(
        CDIConfig(
            api_version="cdi.kubevirt.io/v1beta1",
            kind="CDIConfig",
            metadata=ObjectMeta(name=CDI_CONFIG),
            spec=CDIConfigSpec(),
        )
    )
