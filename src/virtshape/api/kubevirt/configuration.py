from typing import Literal

from msgspec import field

from virtshape.api.core.pod import LocalObjectReference
from virtshape.api.core.scheduling import Affinity, Toleration
from virtshape.api.meta import LabelSelector, ObjectMeta
from virtshape.api.model import Duration, Int32, Model, Time
from virtshape.api.quantity import Quantity


class CertConfig(Model):
    duration: Duration | None = None
    renew_before: Duration | None = None


class KubeVirtSelfSignConfiguration(Model):
    ca: CertConfig | None = None
    ca_overlap_interval: Duration | None = None
    ca_rotate_interval: Duration | None = None
    cert_rotate_interval: Duration | None = None
    server: CertConfig | None = None


class KubeVirtCertificateRotateStrategy(Model):
    self_signed: KubeVirtSelfSignConfiguration | None = None


class TokenBucketRateLimiter(Model):
    burst: Int32
    qps: float


class RateLimiter(Model):
    token_bucket_rate_limiter: TokenBucketRateLimiter | None = None


class RESTClientConfiguration(Model):
    rate_limiter: RateLimiter | None = None


class ReloadableComponentConfiguration(Model):
    rest_client: RESTClientConfiguration | None = None


class ArchSpecificConfiguration(Model):
    emulated_machines: list[str] | None = None
    machine_type: str | None = None
    ovmf_path: str | None = None


class ArchConfiguration(Model):
    amd64: ArchSpecificConfiguration | None = None
    arm64: ArchSpecificConfiguration | None = None
    default_architecture: str | None = None
    ppc64le: ArchSpecificConfiguration | None = None
    s390x: ArchSpecificConfiguration | None = None


class ChangedBlockTrackingSelectors(Model):
    namespace_label_selector: LabelSelector | None = None
    virtual_machine_label_selector: LabelSelector | None = None


class CommonInstancetypesDeployment(Model):
    enabled: bool | None = None


class TDXAttestationConfiguration(Model):
    enforced: bool | None = None
    qgs_socket_path: str | None = None


class TDXConfiguration(Model):
    attestation: TDXAttestationConfiguration | None = None


class ConfidentialComputeConfiguration(Model):
    tdx: TDXConfiguration | None = None


class DiskVerification(Model):
    memory_limit: Quantity


class LogVerbosity(Model):
    node_verbosity: dict[str, Int32] | None = None
    virt_api: Int32 | None = field(default=None, name="virtAPI")
    virt_controller: Int32 | None = None
    virt_handler: Int32 | None = None
    virt_launcher: Int32 | None = None
    virt_operator: Int32 | None = None
    virt_synchronization_controller: Int32 | None = None


class DeveloperConfiguration(Model):
    cluster_profiler: bool | None = None
    cpu_allocation_ratio: Int32 | None = None
    disabled_feature_gates: list[str] | None = None
    disk_verification: DiskVerification | None = None
    feature_gates: list[str] | None = None
    log_verbosity: LogVerbosity | None = None
    memory_overcommit: Int32 | None = None
    minimum_cluster_tsc_frequency: int | None = field(default=None, name="minimumClusterTSCFrequency")
    minimum_reserve_pvc_bytes: int | None = field(default=None, name="minimumReservePVCBytes")
    node_selectors: dict[str, str] | None = None
    pvc_tolerate_less_space_up_to_percent: Int32 | None = None
    use_emulation: bool | None = None


class HypervisorConfiguration(Model):
    name: str | None = None


class InstancetypeConfiguration(Model):
    missing_reference: Literal["Reject", "Defer"] | None = None
    reference_policy: str | None = None


class KSMConfiguration(Model):
    node_label_selector: LabelSelector | None = None


class LiveUpdateConfiguration(Model):
    max_cpu_sockets: int | None = None
    max_guest: Quantity | None = None
    max_hotplug_ratio: int | None = None


class NodeMediatedDeviceTypesConfig(Model):
    node_selector: dict[str, str]
    mediated_device_types: list[str] | None = None
    mediated_devices_types: list[str] | None = None


class MediatedDevicesConfiguration(Model):
    enabled: bool | None = None
    mediated_device_types: list[str] | None = None
    mediated_devices_types: list[str] | None = None
    node_mediated_device_types: list[NodeMediatedDeviceTypesConfig] | None = None


class MigrationConfiguration(Model):
    allow_auto_converge: bool | None = None
    allow_post_copy: bool | None = None
    allow_workload_disruption: bool | None = None
    bandwidth_per_migration: Quantity | None = None
    completion_timeout_per_gi_b: int | None = None
    disable_tls: bool | None = field(default=None, name="disableTLS")
    match_se_linux_level_on_migration: bool | None = field(default=None, name="matchSELinuxLevelOnMigration")
    max_downtime_ms: int | None = None
    network: str | None = None
    node_drain_taint_key: str | None = None
    parallel_migrations_per_cluster: int | None = None
    parallel_outbound_migrations_per_node: int | None = None
    progress_timeout: int | None = None
    unsafe_migration_override: bool | None = None
    utility_volumes_timeout: int | None = None


class ResourceRequirementsWithoutClaims(Model):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None


class InterfaceBindingMigration(Model):
    method: str | None = None


class InterfaceBindingPlugin(Model):
    compute_resource_overhead: ResourceRequirementsWithoutClaims | None = None
    domain_attachment_type: str | None = None
    downward_api: str | None = field(default=None, name="downwardAPI")
    migration: InterfaceBindingMigration | None = None
    network_attachment_definition: str | None = None
    sidecar_image: str | None = None


class NetworkConfiguration(Model):
    binding: dict[str, InterfaceBindingPlugin] | None = None
    default_network_interface: str | None = None
    permit_bridge_interface_on_pod_network: bool | None = None
    permit_slirp_interface: bool | None = None


class MediatedHostDevice(Model):
    mdev_name_selector: str
    resource_name: str
    external_resource_provider: bool | None = None


class PciHostDevice(Model):
    pci_vendor_selector: str
    resource_name: str
    external_resource_provider: bool | None = None


class USBSelector(Model):
    product: str
    vendor: str


class USBHostDevice(Model):
    resource_name: str
    external_resource_provider: bool | None = None
    selectors: list[USBSelector] | None = None


class PermittedHostDevices(Model):
    mediated_devices: list[MediatedHostDevice] | None = None
    pci_host_devices: list[PciHostDevice] | None = None
    usb: list[USBHostDevice] | None = None


class PersistentReservationConfiguration(Model):
    enabled: bool | None = None


class CustomProfile(Model):
    localhost_profile: str | None = None
    runtime_default_profile: bool | None = None


class VirtualMachineInstanceProfile(Model):
    custom_profile: CustomProfile | None = None


class SeccompConfiguration(Model):
    virtual_machine_instance_profile: VirtualMachineInstanceProfile | None = None


class SMBiosConfiguration(Model):
    family: str | None = None
    manufacturer: str | None = None
    product: str | None = None
    sku: str | None = None
    version: str | None = None


class SupportContainerResources(Model):
    type: str
    resources: ResourceRequirementsWithoutClaims


class TLSConfiguration(Model):
    ciphers: list[str] | None = None
    min_tls_version: str | None = field(default=None, name="minTLSVersion")


class VirtTemplateDeployment(Model):
    enabled: bool | None = None


class DisableFreePageReporting(Model):
    pass


class DisableSerialConsoleLog(Model):
    pass


class VirtualMachineOptions(Model):
    disable_free_page_reporting: DisableFreePageReporting | None = None
    disable_serial_console_log: DisableSerialConsoleLog | None = None


class KubeVirtConfiguration(Model):
    additional_guest_memory_overhead_ratio: str | None = None
    api_configuration: ReloadableComponentConfiguration | None = None
    architecture_configuration: ArchConfiguration | None = None
    auto_cpu_limit_namespace_label_selector: LabelSelector | None = field(
        default=None, name="autoCPULimitNamespaceLabelSelector"
    )
    changed_block_tracking_label_selectors: ChangedBlockTrackingSelectors | None = None
    common_instancetypes_deployment: CommonInstancetypesDeployment | None = None
    confidential_compute: ConfidentialComputeConfiguration | None = None
    controller_configuration: ReloadableComponentConfiguration | None = None
    cpu_model: str | None = None
    cpu_request: Quantity | None = None
    default_runtime_class: str | None = None
    developer_configuration: DeveloperConfiguration | None = None
    emulated_machines: list[str] | None = None
    eviction_strategy: str | None = None
    handler_configuration: ReloadableComponentConfiguration | None = None
    hypervisors: list[HypervisorConfiguration] | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    instancetype: InstancetypeConfiguration | None = None
    ksm_configuration: KSMConfiguration | None = None
    live_update_configuration: LiveUpdateConfiguration | None = None
    machine_type: str | None = None
    mediated_devices_configuration: MediatedDevicesConfiguration | None = None
    mem_balloon_stats_period: int | None = None
    migrations: MigrationConfiguration | None = None
    min_cpu_model: str | None = field(default=None, name="minCPUModel")
    network: NetworkConfiguration | None = None
    obsolete_cpu_models: dict[str, bool] | None = field(default=None, name="obsoleteCPUModels")
    ovmf_path: str | None = None
    permitted_host_devices: PermittedHostDevices | None = None
    persistent_reservation_configuration: PersistentReservationConfiguration | None = None
    role_aggregation_strategy: str | None = None
    seccomp_configuration: SeccompConfiguration | None = None
    selinux_launcher_type: str | None = None
    smbios: SMBiosConfiguration | None = None
    support_container_resources: list[SupportContainerResources] | None = None
    supported_guest_agent_versions: list[str] | None = None
    tls_configuration: TLSConfiguration | None = None
    virt_template_deployment: VirtTemplateDeployment | None = None
    virtual_machine_instances_per_node: Int32 | None = None
    virtual_machine_options: VirtualMachineOptions | None = None
    vm_rollout_strategy: str | None = None
    vm_state_storage_class: str | None = None
    webhook_configuration: ReloadableComponentConfiguration | None = None


class Flags(Model):
    api: dict[str, str] | None = None
    controller: dict[str, str] | None = None
    handler: dict[str, str] | None = None


class CustomizeComponentsPatch(Model):
    type: str
    patch: str
    resource_name: str
    resource_type: str


class CustomizeComponents(Model):
    flags: Flags | None = None
    patches: list[CustomizeComponentsPatch] | None = None


class NodePlacement(Model):
    affinity: Affinity | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class ComponentConfig(Model):
    node_placement: NodePlacement | None = None
    replicas: int | None = None


class KubeVirtWorkloadUpdateStrategy(Model):
    batch_eviction_interval: Duration | None = None
    batch_eviction_size: Int32 | None = None
    workload_update_methods: list[str] | None = None


class KubeVirtSpec(Model):
    certificate_rotate_strategy: KubeVirtCertificateRotateStrategy | None = None
    configuration: KubeVirtConfiguration | None = None
    customize_components: CustomizeComponents | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: list[LocalObjectReference] | None = None
    image_registry: str | None = None
    image_tag: str | None = None
    infra: ComponentConfig | None = None
    monitor_account: str | None = None
    monitor_namespace: str | None = None
    product_component: str | None = None
    product_name: str | None = None
    product_version: str | None = None
    service_monitor_namespace: str | None = None
    synchronization_port: str | None = None
    uninstall_strategy: str | None = None
    workload_update_strategy: KubeVirtWorkloadUpdateStrategy | None = None
    workloads: ComponentConfig | None = None


class KubeVirtCondition(Model):
    type: str
    status: str
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    message: str | None = None
    reason: str | None = None


class GenerationStatus(Model):
    name: str
    group: str
    last_generation: int
    resource: str
    hash: str | None = None
    namespace: str | None = None


class KubeVirtStatus(Model):
    conditions: list[KubeVirtCondition] | None = None
    default_architecture: str | None = None
    generations: list[GenerationStatus] | None = None
    observed_deployment_config: str | None = None
    observed_deployment_id: str | None = field(default=None, name="observedDeploymentID")
    observed_generation: int | None = None
    observed_kube_virt_registry: str | None = None
    observed_kube_virt_version: str | None = None
    operator_version: str | None = None
    outdated_virtual_machine_instance_workloads: Int32 | None = None
    phase: str | None = None
    synchronization_addresses: list[str] | None = None
    target_deployment_config: str | None = None
    target_deployment_id: str | None = field(default=None, name="targetDeploymentID")
    target_kube_virt_registry: str | None = None
    target_kube_virt_version: str | None = None


class KubeVirt(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: KubeVirtSpec
    status: KubeVirtStatus | None = None
