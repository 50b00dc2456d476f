"""
Where threads run and memory comes from, as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.tuning import CpuTune, NumaTune
from virtshape.launcher.render.writing import add, format_numbers


def render_cpu_tune(domain: Element, tune: CpuTune) -> None:
    """Append the element `cputune`."""
    element = add(domain, "cputune")
    for pin in tune.vcpu_pins:
        add(element, "vcpupin", {"vcpu": pin.thread, "cpuset": format_numbers(pin.cpus)})
    if tune.emulator_pin:
        add(element, "emulatorpin", {"cpuset": format_numbers(tune.emulator_pin)})
    for pin in tune.iothread_pins:
        add(element, "iothreadpin", {"iothread": pin.thread, "cpuset": format_numbers(pin.cpus)})
    if tune.realtime is not None:
        realtime = tune.realtime
        add(element, "vcpusched", {"vcpus": realtime.vcpus, "scheduler": "fifo", "priority": realtime.priority})


def render_numa_tune(domain: Element, tune: NumaTune) -> None:
    """Append the element `numatune`."""
    element = add(domain, "numatune")
    add(element, "memory", {"mode": "strict", "nodeset": format_numbers(tune.nodes)})
    for one in tune.cells:
        add(element, "memnode", {"cellid": one.cell, "mode": "strict", "nodeset": one.node})
