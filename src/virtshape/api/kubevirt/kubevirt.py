"""
Structs for the KubeVirt object: the settings of an installation and its status.

An installation has one such object, named `kubevirt`. Changes to the object take effect immediately.
"""

from typing import Literal

from msgspec import field

from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.kubevirt.components import (
    ComponentConfig,
    CustomizeComponents,
    KubeVirtCertificateRotateStrategy,
    KubeVirtWorkloadUpdateStrategy,
)
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time


class KubeVirtSpec(Model):
    """Settings for VMs in this cluster and for the installation."""

    configuration: KubeVirtConfiguration | None = None
    """Settings for VMs in this cluster."""
    infra: ComponentConfig | None = None
    """Replicas and scheduling constraints of the control plane."""
    workloads: ComponentConfig | None = None
    """Scheduling constraints of the node agents, which also apply to VMs."""
    workload_update_strategy: KubeVirtWorkloadUpdateStrategy | None = None
    """How running VMs get a new launcher after an update."""
    uninstall_strategy: str | None = None
    """Whether KubeVirt can be deleted while VMs exist: RemoveWorkloads or BlockUninstallIfWorkloadsExist."""
    certificate_rotate_strategy: KubeVirtCertificateRotateStrategy | None = None
    """Source and lifetime of the certificates of the components."""
    customize_components: CustomizeComponents | None = None
    """Patches and flags for the installation."""
    image_registry: str | None = None
    """Registry of the component images; that of the operator's image by default."""
    image_tag: str | None = None
    """Tag of the component images; that of the operator's image by default."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """Pull policy of the component images: Always, IfNotPresent or Never."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """Image pull secrets of the components."""
    monitor_namespace: str | None = None
    """Namespace that Prometheus runs in."""
    monitor_account: str | None = None
    """Service account of Prometheus, which is allowed to read metrics; prometheus-k8s by default."""
    service_monitor_namespace: str | None = None
    """Namespace for the ServiceMonitor; monitorNamespace by default."""
    product_name: str | None = None
    """Value of the label app.kubernetes.io/part-of on the components; no label by default."""
    product_component: str | None = None
    """Value of the label app.kubernetes.io/component on the components; kubevirt by default."""
    product_version: str | None = None
    """Value of the label app.kubernetes.io/version on the components; KubeVirt's version by default."""
    synchronization_port: str | None = None
    """Port on which clusters exchange status during a migration between them; 9185 by default."""


class KubeVirtCondition(Model):
    """A condition of the installation: status, reason, and when it last changed."""

    type: str
    """Type of the condition, such as Available, Progressing or Degraded."""
    status: str
    """Status of the condition: True, False or Unknown."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""
    message: str | None = None
    """Human-readable details of the condition."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""


class GenerationStatus(Model):
    """The last written generation of an installed object."""

    name: str
    """Name of the installed object."""
    group: str
    """API group of the installed object."""
    last_generation: int
    """Generation after the last write; a higher generation means that another client changed the object."""
    resource: str
    """Resource of the installed object, such as deployments."""
    namespace: str | None = None
    """Namespace of the installed object."""
    hash: str | None = None
    """Digest of the content, for objects that have no generation."""


class KubeVirtStatus(Model):
    """State of the installation."""

    phase: str | None = None
    """Phase of the installation: Deploying, Deployed, Deleting or Deleted."""
    conditions: list[KubeVirtCondition] | None = None
    """Current conditions, one per type."""
    observed_generation: int | None = None
    """Generation of this object that the status refers to."""
    operator_version: str | None = None
    """Version of the operator."""
    default_architecture: str | None = None
    """Architecture of VMs that do not set one."""
    outdated_virtual_machine_instance_workloads: Int32 | None = None
    """Number of running VMs with an outdated launcher."""
    observed_kube_virt_version: str | None = None
    """Installed version of KubeVirt."""
    observed_kube_virt_registry: str | None = None
    """Registry that the installed version comes from."""
    observed_deployment_id: str | None = field(default=None, name="observedDeploymentID")
    """Digest of the settings of the installed version."""
    observed_deployment_config: str | None = None
    """Settings of the installed version, as JSON text."""
    target_kube_virt_version: str | None = None
    """Version that is being installed; equals the installed version when done."""
    target_kube_virt_registry: str | None = None
    """Registry of the version that is being installed."""
    target_deployment_id: str | None = field(default=None, name="targetDeploymentID")
    """Digest of the settings of the version that is being installed."""
    target_deployment_config: str | None = None
    """Settings of the version that is being installed, as JSON text."""
    generations: list[GenerationStatus] | None = None
    """The last written generation of each installed object."""
    synchronization_addresses: list[str] | None = None
    """Addresses, as host:port, for migrations between clusters."""


class KubeVirt(KubernetesObject, kw_only=True):
    """The configuration of KubeVirt; there is one object, named kubevirt in the namespace kubevirt."""

    api_version: str
    """The group and version: kubevirt.io/v1."""
    kind: str
    """The kind of this object: KubeVirt."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: KubeVirtSpec
    """Settings for VMs and for the installation."""
    status: KubeVirtStatus | None = None
    """State of the installation."""
