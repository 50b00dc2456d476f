"""
The objects of an installation that exist on a cluster, and the VMs, guests and claims that depend on it.

Only objects with the label of an installation belong to it: KubeVirt's and CDI's own CRDs do not have the label.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import APP_PART_OF_LABEL
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.naming import SYSTEM
from virtshape.cluster.manifests.options import Options
from virtshape.controllers.pods.naming import SELECTOR

T = TypeVar("T", bound=Model)

VM_DEFINITION: Final = "virtualmachines.kubevirt.io"
MAX_PARALLEL: Final = 8


class ObjectRef(NamedTuple):
    """An object of any kind."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @property
    def path(self) -> str:
        """The path of the object in the API."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        place = f"/namespaces/{quote(self.namespace, safe='')}" if self.namespace else ""
        return f"{root}{place}/{name_resource(self.kind)}/{quote(self.name, safe=':')}"

    def __str__(self) -> str:
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.kind} {self.name}{place}"


def name_resource(kind: str) -> str:
    """Return the resource of a kind: its plural in lower case."""
    lower = kind.lower()
    return re.sub("y$", "ie", lower) + ("es" if lower.endswith("s") else "s")


class Inventory(Struct, frozen=True, kw_only=True):
    """An installation as found on a cluster; `objects` are in the order in which to delete them."""

    namespace: str
    objects: Sequence[ObjectRef] = ()
    vms: Sequence[VirtualMachine] = ()
    vmis: Sequence[VirtualMachineInstance] = ()
    pods: Sequence[Pod] = ()
    """Launcher pods."""
    claims: Sequence[PersistentVolumeClaim] = ()
    """All claims of the cluster."""
    data_volumes: Sequence[DataVolume] = ()
    """All DataVolumes of the cluster."""

    @property
    def definitions(self) -> list[ObjectRef]:
        """The CRDs of the installation."""
        return [one for one in self.objects if one.kind == "CustomResourceDefinition"]

    @property
    def owns_vms(self) -> bool:
        """True if the CRD of VMs belongs to the installation; otherwise KubeVirt runs the VMs."""
        return any(one.name == VM_DEFINITION for one in self.definitions)


async def gather_inventory(client: RestClient, namespace: str) -> Inventory:
    """Find the installation in a namespace."""
    limit = asyncio.Semaphore(MAX_PARALLEL)

    async def check(ref: ObjectRef) -> bool:
        async with limit:
            return await _is_installed(client, ref)

    candidates = list_candidates(namespace)
    found = await asyncio.gather(*(check(ref) for ref in candidates))
    inventory = Inventory(
        namespace=namespace, objects=[ref for ref, exists in zip(candidates, found, strict=True) if exists]
    )
    if not inventory.owns_vms:
        return inventory
    return msgspec.structs.replace(
        inventory,
        vms=await list_served(client, VirtualMachine),
        vmis=await list_served(client, VirtualMachineInstance),
        pods=(await client.list(Pod, labels=SELECTOR)).items,
        claims=(await client.list(PersistentVolumeClaim)).items,
        data_volumes=await list_served(client, DataVolume),
    )


async def _is_installed(client: RestClient, ref: ObjectRef) -> bool:
    try:
        reply = await client.request("GET", ref.path)
    except StatusError as error:
        if error.code != 404:
            raise
        return False
    tree: JsonObject = msgspec.json.decode(reply.body)
    return bool((tree["metadata"].get("labels") or {}).get(APP_PART_OF_LABEL) == SYSTEM)


async def list_served(client: Client, kind: type[T]) -> Sequence[T]:
    """Return all objects of a kind, or none if the cluster does not serve the kind because its CRD does not exist."""
    try:
        return (await client.list(kind)).items
    except StatusError as error:
        if error.code != 404:
            raise
        return ()


def list_candidates(namespace: str) -> list[ObjectRef]:
    """Return all objects that an installation with any options can have, in the order in which to delete them."""
    variants = (
        Options(namespace=namespace, cdi=True, service_monitor=True),
        Options(namespace=namespace, cdi=True, webhook_cert="cert-manager"),
        Options(namespace=namespace, with_kubevirt=True),
    )
    parts: dict[str, dict[ObjectRef, None]] = {}
    for options in variants:
        for part, trees in build_parts(options).items():
            parts.setdefault(part, {}).update(dict.fromkeys(map(_refer_to, trees)))
    return [ref for refs in reversed(parts.values()) for ref in reversed(refs)]


def _refer_to(tree: JsonObject) -> ObjectRef:
    metadata = tree["metadata"]
    return ObjectRef(tree["apiVersion"], tree["kind"], metadata["name"], metadata.get("namespace", ""))
