"""
Resource requests of pods, as kube-scheduler counts them: of new launcher pods, and of all pods on the nodes.

The functions are pure. Topology spread and affinity between pods are not considered.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from virtshape.api.core.container import Container
from virtshape.api.core.podspec import Pod, PodSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.controllers.pods.build import build_scheduling_spec
from virtshape.controllers.pods.resources import build_resources
from virtshape.controllers.vmi.nodefit import Allocations, Demand, measure_demand, read_amount

PODS: Final = "pods"
"""Resource of a node that limits its number of pods."""
_FINAL: Final = ("Succeeded", "Failed")


def measure_launcher_demand(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> Demand:
    """Return the demand of an instance's launcher pod, including the memory that QEMU and the launcher need."""
    scheduling = build_scheduling_spec(spec, configuration)
    requests = build_resources(spec, configuration).requests or {}
    guest = measure_demand(spec, configuration)
    return Demand(
        {PODS: 1, **_read_amounts(requests)},
        guest.dedicated,
        scheduling.node_selector or {},
        spec.affinity,
        guest.tolerations,
        guest.because,
    )


def allocate_pods(pods: Iterable[Pod]) -> Allocations:
    """Return the resources that pods use on their nodes; finished pods use none."""
    allocations = Allocations()
    for pod in pods:
        spec, phase = pod.spec, pod.status.phase if pod.status else None
        if spec is not None and spec.node_name and phase not in _FINAL:
            key = f"{pod.metadata.namespace}/{pod.metadata.name}"
            allocations.place(key, spec.node_name, Demand(measure_pod(spec)))
    return allocations


def measure_pod(spec: PodSpec) -> dict[str, int]:
    """
    Return the requests of a pod as kube-scheduler counts them.

    The requests include init containers, overhead, and 1 for the resource `pods`.
    """
    total = _add(spec.containers)
    sidecars: Counter[str] = Counter()
    largest: Counter[str] = Counter()
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            sidecars += _add([container])
            largest |= sidecars
        else:
            largest |= sidecars + _add([container])
    total = (total + sidecars) | largest
    total += Counter(_read_amounts(spec.overhead or {}))
    return {PODS: 1, **total}


def _add(containers: Iterable[Container]) -> Counter[str]:
    total: Counter[str] = Counter()
    for container in containers:
        requests = (container.resources.requests if container.resources else None) or {}
        total.update(_read_amounts(requests))
    return total


def _read_amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: read_amount(name, quantity) for name, quantity in quantities.items()}
