"""
vCPUs as XML: how many, their model, features, layout and NUMA nodes.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.cpu import Cpu, Vcpus
from virtshape.launcher.render.writing import add, format_numbers, yes_no


def render_vcpus(domain: Element, vcpus: Vcpus) -> None:
    """Append the elements `vcpu` and, where each is told apart, `vcpus`."""
    current = vcpus.current if vcpus.current != vcpus.maximum else None
    add(domain, "vcpu", {"placement": "static", "current": current}, text=vcpus.maximum)
    if vcpus.each:
        several = add(domain, "vcpus")
        for one in vcpus.each:
            state = {"enabled": yes_no(one.enabled), "hotpluggable": yes_no(one.hotpluggable)}
            add(several, "vcpu", {"id": one.id, **state})


def render_cpu(domain: Element, cpu: Cpu) -> None:
    """Append the element `cpu`."""
    match = "exact" if cpu.mode == "custom" else None
    element = add(domain, "cpu", {"mode": cpu.mode, "match": match, "check": cpu.check})
    if cpu.model is not None:
        add(element, "model", {"fallback": "forbid"}, text=cpu.model)
    layout = cpu.topology
    add(element, "topology", {"sockets": layout.sockets, "cores": layout.cores, "threads": layout.threads})
    for feature in cpu.features:
        add(element, "feature", {"policy": feature.policy, "name": feature.name})
    if cpu.cells:
        numa = add(element, "numa")
        for cell in cpu.cells:
            vcpus = format_numbers(cell.cpus)
            add(numa, "cell", {"id": cell.id, "cpus": vcpus, "memory": cell.memory, "unit": "b"})
