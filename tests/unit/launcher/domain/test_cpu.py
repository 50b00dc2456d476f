"""vCPUs as XML."""

from xml.etree.ElementTree import Element, tostring

import pytest

from virtshape.launcher.domain.cpu import Cell, Cpu, Feature, Topology, Vcpu, Vcpus, render_cpu, render_vcpus


def write(element: Element) -> str:
    return "".join(tostring(child, encoding="unicode") for child in element)


@pytest.mark.parametrize(
    ("vcpus", "xml"),
    [
        pytest.param(Vcpus(current=2, maximum=2), '<vcpu placement="static">2</vcpu>', id="a number"),
        pytest.param(
            Vcpus(
                current=1,
                maximum=2,
                each=(Vcpu(0, enabled=True, hotpluggable=False), Vcpu(1, enabled=False, hotpluggable=True)),
            ),
            '<vcpu placement="static" current="1">2</vcpu>'
            '<vcpus><vcpu id="0" enabled="yes" hotpluggable="no" />'
            '<vcpu id="1" enabled="no" hotpluggable="yes" /></vcpus>',
            id="hotpluggable vCPUs",
        ),
    ],
)
def test_vcpus_are_rendered_as_xml(vcpus: Vcpus, xml: str) -> None:
    domain = Element("domain")
    render_vcpus(domain, vcpus)
    assert write(domain) == xml


@pytest.mark.parametrize(
    ("cpu", "xml"),
    [
        pytest.param(
            Cpu(mode="host-passthrough"),
            '<cpu mode="host-passthrough"><topology sockets="1" cores="1" threads="1" /></cpu>',
            id="host-passthrough",
        ),
        pytest.param(
            Cpu(
                mode="custom",
                model="Westmere",
                check="none",
                topology=Topology(3, 2, 1),
                features=(Feature("aes"), Feature("mpx", "disable")),
                cells=(Cell(0, (0, 1, 2), 1024), Cell(1, (3, 5), 2048)),
            ),
            '<cpu mode="custom" match="exact" check="none"><model fallback="forbid">Westmere</model>'
            '<topology sockets="3" cores="2" threads="1" />'
            '<feature policy="require" name="aes" /><feature policy="disable" name="mpx" />'
            '<numa><cell id="0" cpus="0-2" memory="1024" unit="b" />'
            '<cell id="1" cpus="3,5" memory="2048" unit="b" /></numa></cpu>',
            id="all fields",
        ),
    ],
)
def test_cpu_is_rendered_as_xml(cpu: Cpu, xml: str) -> None:
    domain = Element("domain")
    render_cpu(domain, cpu)
    assert write(domain) == xml
