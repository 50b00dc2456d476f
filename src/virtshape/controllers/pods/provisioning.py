"""
Build the first-consumer pod, which binds volumes that wait for a consumer on a node where the guest can run.

The pod exits at once. The guest starts after its volumes are populated.
"""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from virtshape.api.core.container import Container, ResourceRequirements
from virtshape.api.core.podspec import Pod
from virtshape.api.core.security import Capabilities, SecurityContext
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import make_owner_reference
from virtshape.api.quantity import Quantity
from virtshape.controllers.pods.build import build_scheduling_spec
from virtshape.controllers.pods.naming import list_labels, name_pod
from virtshape.controllers.pods.volumes import list_pod_volumes

FIRST_CONSUMER_PHASES: Final = frozenset({"WaitForFirstConsumer", "PendingPopulation"})
PURPOSE: Final = "virt-provision"
_AMOUNTS: Final = {"cpu": Quantity("10m"), "memory": Quantity("16Mi")}


def build_first_consumer(
    vmi: VirtualMachineInstance,
    configuration: KubeVirtConfiguration | None,
    image: str,
    block_claims: Collection[str] = (),
) -> Pod:
    """Build a pod that only mounts the claims of the instance."""
    volumes = [one for one in list_pod_volumes(vmi, block_claims) if one.volume.persistent_volume_claim is not None]
    container = Container(
        "first-consumer",
        command=["true"],
        image=image,
        resources=ResourceRequirements(requests=dict(_AMOUNTS), limits=dict(_AMOUNTS)),
        security_context=SecurityContext(
            allow_privilege_escalation=False,
            capabilities=Capabilities(drop=["ALL"]),
            read_only_root_filesystem=True,
        ),
        volume_mounts=[one.mount for one in volumes if one.mount is not None] or None,
        volume_devices=[one.device for one in volumes if one.device is not None] or None,
    )
    return Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(
            name=name_pod(vmi, PURPOSE),
            namespace=vmi.metadata.namespace,
            labels=list_labels(vmi, PURPOSE),
            owner_references=[make_owner_reference(vmi)],
        ),
        spec=replace(
            build_scheduling_spec(vmi.spec, configuration),
            containers=[container],
            volumes=[one.volume for one in volumes],
        ),
    )
