"""
Build the launcher pod of an instance: container, resources, scheduling constraints and volumes.

The functions are pure. If an instance cannot run in a pod, the reasons are returned.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from virtshape.api.codec import encode
from virtshape.api.core.container import Container, ContainerPort, EnvVar, Probe, ResourceRequirements
from virtshape.api.core.podshared import ExecAction
from virtshape.api.core.podspec import Pod, PodSpec
from virtshape.api.core.security import (
    Capabilities,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
)
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.launcherpod import CLAIM_SIZES_VARIABLE, INSTANCE_VARIABLE, RUNNING, STARTED, format_claim_sizes
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import make_owner_reference
from virtshape.api.wellknown import ARCHITECTURE_LABEL, DEFAULT_GRACE_SECONDS, EVEN_PARITY_ANNOTATION
from virtshape.controllers.pods.naming import CONTAINER, list_annotations, list_labels, name_pod
from virtshape.controllers.pods.overhead import is_dedicated
from virtshape.controllers.pods.resources import build_resources
from virtshape.controllers.pods.volumes import PodVolume, list_pod_volumes, list_pull_secrets
from virtshape.controllers.vmi.nodefit import CPU_MANAGER_LABEL, list_node_selectors
from virtshape.engine.hostaccess import check_host_access, explain_host_disks
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

COMMAND: Final = ("virtshape", "launcher", "--pod")
GUEST_USER: Final = 107
GRACE_MARGIN_SECONDS: Final = 15
"""Extra seconds for the launcher to kill a guest that did not shut down, and to report how it ended."""
START_PERIOD_SECONDS: Final = 1
MAX_START_SECONDS: Final = 86_400
"""Time after which kubelet kills a guest that does not start; the launcher reports failures much earlier."""
DEFAULT_PROBE_SECONDS: Final = 10
"""Default period of a readiness probe, as in Kubernetes."""
_MAX_HOSTNAME_LENGTH: Final = 63


def build_launcher_pod(
    vmi: VirtualMachineInstance,
    configuration: KubeVirtConfiguration | None,
    image: str,
    block_claims: Collection[str] = (),
    *,
    claim_sizes: Mapping[str, int] = MappingProxyType({}),
    namespace_labels: Mapping[str, str] = MappingProxyType({}),
) -> Pod:
    """
    Build the launcher pod of an instance.

    `block_claims` are its claims in block mode; `claim_sizes` are the sizes of its claims in bytes, by volume name.
    """
    volumes = list_pod_volumes(vmi, block_claims)
    metadata = vmi.metadata
    return Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(
            name=name_pod(vmi),
            namespace=metadata.namespace,
            labels=list_labels(vmi),
            annotations=list_annotations(vmi),
            owner_references=[make_owner_reference(vmi)],
        ),
        spec=replace(
            build_scheduling_spec(vmi.spec, configuration),
            runtime_class_name=(configuration.default_runtime_class if configuration else None) or None,
            containers=[_build_container(vmi, configuration, image, volumes, claim_sizes, namespace_labels)],
            volumes=[one.volume for one in volumes],
            image_pull_secrets=list_pull_secrets(vmi.spec) or None,
            hostname=_find_hostname(vmi),
            subdomain=vmi.spec.subdomain,
            dns_policy=vmi.spec.dns_policy,
            dns_config=vmi.spec.dns_config,
            termination_grace_period_seconds=get_grace_period(vmi.spec) + GRACE_MARGIN_SECONDS,
            **_describe_account(vmi.spec),
        ),
    )


def build_scheduling_spec(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> PodSpec:
    """Return a pod spec without containers, with the guest's scheduling constraints and security context."""
    selector = {ARCHITECTURE_LABEL: spec.architecture or DEFAULT_ARCHITECTURE, **list_node_selectors(configuration)}
    if is_dedicated(spec.domain):
        selector[CPU_MANAGER_LABEL] = "true"
    return PodSpec(
        containers=[],
        restart_policy="Never",
        node_selector={**selector, **(spec.node_selector or {})},
        affinity=spec.affinity,
        tolerations=spec.tolerations,
        topology_spread_constraints=spec.topology_spread_constraints,
        scheduler_name=spec.scheduler_name,
        priority_class_name=spec.priority_class_name,
        automount_service_account_token=False,
        enable_service_links=False,
        security_context=PodSecurityContext(
            run_as_user=GUEST_USER,
            run_as_group=GUEST_USER,
            run_as_non_root=True,
            fs_group=GUEST_USER,
            seccomp_profile=_get_seccomp_profile(configuration),
            se_linux_options=_find_selinux_options(configuration),
        ),
    )


def _get_seccomp_profile(configuration: KubeVirtConfiguration | None) -> SeccompProfile:
    seccomp = configuration.seccomp_configuration if configuration else None
    instances = seccomp.virtual_machine_instance_profile if seccomp else None
    custom = instances.custom_profile if instances else None
    if custom is not None and custom.localhost_profile and not custom.runtime_default_profile:
        return SeccompProfile("Localhost", custom.localhost_profile)
    return SeccompProfile("RuntimeDefault")


def _find_selinux_options(configuration: KubeVirtConfiguration | None) -> SELinuxOptions | None:
    wanted = configuration.selinux_launcher_type if configuration else None
    return SELinuxOptions(type=wanted) if wanted else None


def get_grace_period(spec: VirtualMachineInstanceSpec) -> int:
    """Return the grace period of the guest in seconds."""
    grace = spec.termination_grace_period_seconds
    return DEFAULT_GRACE_SECONDS if grace is None else grace


def _build_container(
    vmi: VirtualMachineInstance,
    configuration: KubeVirtConfiguration | None,
    image: str,
    volumes: Collection[PodVolume],
    claim_sizes: Mapping[str, int],
    namespace_labels: Mapping[str, str],
) -> Container:
    return Container(
        CONTAINER,
        command=list(COMMAND),
        image=image,
        image_pull_policy=configuration.image_pull_policy if configuration else None,
        env=[
            EnvVar(INSTANCE_VARIABLE, encode(_without_status(vmi)).decode()),
            *([EnvVar(CLAIM_SIZES_VARIABLE, format_claim_sizes(claim_sizes))] if claim_sizes else []),
        ],
        ports=_list_ports(vmi.spec) or None,
        resources=build_instance_resources(vmi, configuration, namespace_labels),
        startup_probe=_build_probe(STARTED, START_PERIOD_SECONDS, failures=MAX_START_SECONDS // START_PERIOD_SECONDS),
        readiness_probe=_find_readiness_probe(vmi.spec),
        security_context=SecurityContext(
            allow_privilege_escalation=False,
            capabilities=Capabilities(drop=["ALL"]),
            read_only_root_filesystem=True,
        ),
        volume_mounts=[one.mount for one in volumes if one.mount is not None],
        volume_devices=[one.device for one in volumes if one.device is not None] or None,
    )


def build_instance_resources(
    vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None, namespace_labels: Mapping[str, str]
) -> ResourceRequirements:
    """Return requests and limits of the container that runs an instance in a namespace with these labels."""
    even_parity = EVEN_PARITY_ANNOTATION in (vmi.metadata.annotations or {})
    return build_resources(vmi.spec, configuration, even_parity=even_parity, namespace_labels=namespace_labels)


def _find_readiness_probe(spec: VirtualMachineInstanceSpec) -> Probe | None:
    """
    Return a probe that checks the result of the guest's readiness probe, or None if the guest has no such probe.

    The launcher runs the guest's readiness probe. Each probe of the pod starts a process in the container. Therefore a
    guest without a readiness probe, which is ready as soon as it has started, gets no probe.
    """
    stated = spec.readiness_probe
    if stated is None:
        return None
    return _build_probe(RUNNING, stated.period_seconds or DEFAULT_PROBE_SECONDS, failures=1)


def _build_probe(path: str, period: int, *, failures: int) -> Probe:
    action = ExecAction(["test", "-e", path])
    return Probe(exec=action, period_seconds=period, timeout_seconds=5, failure_threshold=failures)


def _without_status(vmi: VirtualMachineInstance) -> VirtualMachineInstance:
    """Return the instance without its status and without metadata that the launcher does not need."""
    metadata = vmi.metadata
    kept = replace(metadata, managed_fields=None, resource_version=None, finalizers=None)
    return replace(vmi, metadata=kept, status=None)


def _list_ports(spec: VirtualMachineInstanceSpec) -> list[ContainerPort]:
    return [
        ContainerPort(port.port, port.name, protocol=port.protocol)
        for interface in spec.domain.devices.interfaces or ()
        for port in interface.ports or ()
        if port.port
    ]


def _find_hostname(vmi: VirtualMachineInstance) -> str | None:
    name = vmi.spec.hostname or (vmi.metadata.name or "").partition(".")[0]
    return name[:_MAX_HOSTNAME_LENGTH].rstrip("-") or None


def _describe_account(spec: VirtualMachineInstanceSpec) -> dict[str, object]:
    """Return the service account fields of the pod; the token is mounted only if the guest uses it."""
    accounts = [volume.service_account for volume in spec.volumes or () if volume.service_account is not None]
    if not accounts:
        return {"service_account_name": spec.service_account_name}
    return {"service_account_name": accounts[0].service_account_name, "automount_service_account_token": True}


def explain_refusal(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> str:
    """
    Return the reasons why no pod can run the instance, field by field, or an empty string if there are none.

    Admission checks host access too, but the instance may have been stored before the configuration changed.
    """
    unpermitted = check_host_access(spec, "spec", configuration, explain_host_disks(configuration))
    return "; ".join([*(f"{one.fields[0]}: {one.message}" for one in unpermitted), *_find_refusals(spec)])


def _find_refusals(spec: VirtualMachineInstanceSpec) -> Iterator[str]:
    for number, filesystem in enumerate(spec.domain.devices.filesystems or ()):
        yield f"spec.domain.devices.filesystems[{number}]: {filesystem.name} cannot be shared with a guest in a pod"
    for number, network in enumerate(spec.networks or ()):
        if network.pod is None:
            yield f"spec.networks[{number}]: a guest in a pod supports only the pod network"
    for number, volume in enumerate(spec.utility_volumes or ()):
        yield f"spec.utilityVolumes[{number}]: {volume.name} cannot be added to a guest in a pod"
