"""
Well-known labels, annotations, finalizers, media types and defaults, each defined once.

They are those of Kubernetes, CDI, KubeVirt and virtshape.
"""

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
METRICS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of the Prometheus text format."""

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ARCHITECTURE_LABEL: Final = "kubernetes.io/arch"
OS_LABEL: Final = "kubernetes.io/os"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
BOOTSTRAPPING_LABEL: Final = "kubernetes.io/bootstrapping"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation that kubectl apply reads and writes."""
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
CREATED_BY_LABEL: Final = "kubevirt.io/created-by"
"""On a pod or DataVolume: UID of the VMI or VM that it was created for."""
NODE_LABEL: Final = "kubevirt.io/nodeName"
"""On a VMI: the node that its guest runs on."""
SCHEDULABLE_LABEL: Final = "kubevirt.io/schedulable"
VM_NAME_LABEL: Final = "vm.kubevirt.io/name"
VMI_ID_LABEL: Final = "vmi.kubevirt.io/id"
"""On a launcher pod: its instance, for the selector of a Service; see `format_vmi_id`."""
VMI_FINALIZER: Final = "kubevirt.io/foregroundDeleteVirtualMachine"
"""On a VMI: finalizer until its guest has stopped."""
OBSERVED_VERSIONS: Final = {
    "kubevirt.io/latest-observed-api-version": "v1",
    "kubevirt.io/storage-observed-api-version": "v1",
}
"""Annotations of a VMI: the newest version of its API, and the version that is stored."""
DESCRIPTION_ANNOTATION: Final = "virtshape.io/description"
KVM_DEVICE: Final = "devices.kubevirt.io/kvm"
EVEN_PARITY_ANNOTATION: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
"""If set, an isolated emulator thread gets a second CPU if that makes the total number of CPUs even."""
OBJECT_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"
OBJECT_KIND_LABEL: Final = "instancetype.kubevirt.io/object-kind"
DISPLAY_NAME_ANNOTATION: Final = "instancetype.kubevirt.io/displayName"
OPENSHIFT_DISPLAY_NAME_ANNOTATION: Final = "openshift.io/display-name"
GUEST_OS_ANNOTATION: Final = "vm.kubevirt.io/os"

DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""On a storage class: marks the default class. The current key comes first, then the old one."""
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
"""On a claim: marks a claim that an upload populates."""
POPULATED_FOR: Final = "cdi.kubevirt.io/storage.populatedFor"
PRE_POPULATED: Final = "cdi.kubevirt.io/storage.prePopulated"
ALLOW_ADOPTION: Final = "cdi.kubevirt.io/allowClaimAdoption"

KUBEVIRT: Final = "kubevirt"
"""Namespace and name of the KubeVirt object, which holds the configuration."""
DEFAULT_GRACE_SECONDS: Final = 30
"""The terminationGracePeriodSeconds of an instance that sets none."""
