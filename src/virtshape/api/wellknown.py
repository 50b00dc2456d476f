"""
Well-known labels, annotations, finalizers, media types and defaults, each defined once.

The names belong to Kubernetes, CDI, KubeVirt and virtshape.
"""

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ARCHITECTURE_LABEL: Final = "kubernetes.io/arch"
OS_LABEL: Final = "kubernetes.io/os"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
BOOTSTRAPPING_LABEL: Final = "kubernetes.io/bootstrapping"
APP_NAME_LABEL: Final = "app.kubernetes.io/name"
APP_PART_OF_LABEL: Final = "app.kubernetes.io/part-of"
APP_VERSION_LABEL: Final = "app.kubernetes.io/version"
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
"""On a launcher pod: its instance, which Services select; see `format_vmi_id`."""
VM_FINALIZER: Final = "kubevirt.io/virtualMachineControllerFinalize"
"""On a VM: the finalizer that is removed when its instance is deleted."""
VMI_FINALIZER: Final = "kubevirt.io/foregroundDeleteVirtualMachine"
"""On a VMI: the finalizer that is removed when its guest has stopped."""
OBSERVED_VERSIONS: Final = {
    "kubevirt.io/latest-observed-api-version": "v1",
    "kubevirt.io/storage-observed-api-version": "v1",
}
"""Annotations of a VMI: the newest version of its API, and the version that is stored."""
DESCRIPTION_ANNOTATION: Final = "virtshape.io/description"
KVM_DEVICE: Final = "devices.kubevirt.io/kvm"
EVEN_PARITY_ANNOTATION: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
"""On a VMI: an isolated emulator thread gets a second CPU if the total would otherwise be odd."""
OBJECT_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"
RECAPTURE_ANNOTATION: Final = "virtshape.io/recapture"
"""
A VM annotation with a comma-separated list of roles whose revisions must be captured again.

Admission sets it if an update removes the name of a revision, and clients set it to request an upgrade. The controller
captures the revisions and removes the annotation. It ignores roles whose revision the spec names, and other values.
"""
SHARED_REVISION_LABEL: Final = "virtshape.io/shared-revision"
"""On a ControllerRevision: `true` if the VMs that use it own it together."""
START_REVISION_PREFIX: Final = "revision-start-vm-"
"""Prefix of the names of ControllerRevisions that store the spec with which a VM was started."""
OBJECT_KIND_LABEL: Final = "instancetype.kubevirt.io/object-kind"
DISPLAY_NAME_ANNOTATION: Final = "instancetype.kubevirt.io/displayName"
OPENSHIFT_DISPLAY_NAME_ANNOTATION: Final = "openshift.io/display-name"
GUEST_OS_ANNOTATION: Final = "vm.kubevirt.io/os"
GUEST_WORKLOAD_ANNOTATION: Final = "vm.kubevirt.io/workload"
GUEST_FLAVOR_ANNOTATION: Final = "vm.kubevirt.io/flavor"
DEPRECATED_LABEL: Final = "instancetype.kubevirt.io/deprecated"
"""On an instance type or preference of KubeVirt's common set: `true` means deprecated."""
LIFECYCLE_LABEL: Final = "virtshape.io/lifecycle"
"""On an instance type, flavor or preference: active, deprecated or retired; overrides DEPRECATED_LABEL."""
REPLACEMENT_ANNOTATION: Final = "virtshape.io/replacement"
"""On an instance type, flavor or preference: the `[KIND/]NAME` of the object to use instead."""

DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""On a storage class: the annotations that mark the default class, first the current key, then the old one."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
KEEPS_BYTES: Final = "virtshape.io/bytes"
"""On a volume: the finalizer that is removed when the volume's data has been deleted."""
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
"""On a claim: present if an upload populates the claim."""
POPULATED_FOR: Final = "cdi.kubevirt.io/storage.populatedFor"
PRE_POPULATED: Final = "cdi.kubevirt.io/storage.prePopulated"
ALLOW_ADOPTION: Final = "cdi.kubevirt.io/allowClaimAdoption"

KUBEVIRT: Final = "kubevirt"
"""Namespace and name of the KubeVirt object, which contains the configuration."""
ACCOUNT_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type, not a token
"""The type of a Secret with the token of a service account."""
DEFAULT_GRACE_SECONDS: Final = 30
"""The terminationGracePeriodSeconds of an instance that does not set the field."""
