"""
Well-known labels, annotations, taints and finalizers, each defined once.

Those of Kubernetes, CDI and KubeVirt, and our own.
"""

from typing import Final

DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
KEEPS_BYTES: Final = "virtshape.io/bytes"
"""On a volume: finalizer until the data of the volume is removed."""
SNAPSHOT_PROTECTION: Final = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

BIND_NOW: Final = "cdi.kubevirt.io/storage.bind.immediate.requested"
CONTENT_TYPE: Final = "cdi.kubevirt.io/storage.contentType"
POD_PHASE: Final = "cdi.kubevirt.io/storage.pod.phase"
"""On a claim: phase of the transfer; `Succeeded` once the claim is populated."""
POD_READY: Final = "cdi.kubevirt.io/storage.pod.ready"
"""On a claim: whether uploads are accepted."""
POD_RESTARTS: Final = "cdi.kubevirt.io/storage.pod.restarts"
"""On a claim: number of rejected uploads."""
RUNNING_MESSAGE: Final = "cdi.kubevirt.io/storage.condition.running.message"
"""On a claim: why the last upload was rejected."""
UPLOAD_TARGET: Final = "cdi.kubevirt.io/storage.upload.target"
"""On a claim: it is populated by an upload."""
POPULATED_FOR: Final = "cdi.kubevirt.io/storage.populatedFor"
PRE_POPULATED: Final = "cdi.kubevirt.io/storage.prePopulated"
ALLOW_ADOPTION: Final = "cdi.kubevirt.io/allowClaimAdoption"
