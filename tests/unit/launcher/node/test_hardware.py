from pathlib import Path

import pytest

from virtshape.api.architecture import get_architecture
from virtshape.launcher.host import NumaCell
from virtshape.launcher.node.hardware import (
    count_hugepages,
    does_kvm_work,
    list_cpus,
    list_numa_cells,
    measure_memory,
    parse_list,
)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_host_cpus_are_grouped_by_numa_node_and_core(tmp_path: Path) -> None:
    write(tmp_path, "devices/system/node/node0/cpulist", "0-1,4-5\n")
    write(tmp_path, "devices/system/node/node1/cpulist", "2-3\n")
    write(tmp_path, "devices/system/node/node2/cpulist", "\n")
    for cpu, siblings in {0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5", 2: "2-3", 3: "2-3"}.items():
        write(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{siblings}\n")
    assert list_numa_cells((0, 1, 2, 3, 4), tmp_path) == (
        NumaCell(0, ((0, 4), (1,))),
        NumaCell(1, ((2, 3),)),
    )
    assert list_numa_cells((0,), tmp_path / "nothing") == ()


@pytest.mark.parametrize(
    ("limit", "memory"),
    [
        pytest.param("", 4096, id="no limit"),
        pytest.param("max\n", 4096, id="unlimited"),
        pytest.param("2048\n", 2048, id="limit below the memory of the machine"),
        pytest.param("1048576\n", 4096, id="limit above the memory of the machine"),
    ],
)
def test_host_memory_is_limited_by_the_cgroup(tmp_path: Path, limit: str, memory: int) -> None:
    write(tmp_path, "meminfo", "MemTotal:              4 kB\nMemFree:               1 kB\n")
    if limit:
        write(tmp_path, "fs/cgroup/memory.max", limit)
    assert measure_memory(tmp_path, tmp_path) == memory


def test_only_available_huge_pages_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16\n")
    write(tmp_path, "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n")
    assert count_hugepages(tmp_path) == {"2Mi": 16}


def test_cpus_and_memory_of_this_machine_are_found() -> None:
    assert list_cpus()
    assert measure_memory() > 0
    assert get_architecture() in ("amd64", "arm64", "s390x")


def test_empty_cpu_list_has_no_numbers() -> None:
    assert list(parse_list("\n")) == []


CPUINFO = "processor : 0\nflags\t\t: fpu vmx sse\n\nprocessor : 1\nflags\t\t: fpu vmx sse\n"


@pytest.mark.parametrize(
    ("cpuinfo", "device", "works"),
    [
        pytest.param(CPUINFO, True, True, id="Intel"),
        pytest.param(CPUINFO.replace("vmx", "svm"), True, True, id="AMD"),
        pytest.param("processor : 0\nFeatures\t: fp asimd\n", True, True, id="ARM does not list flags"),
        pytest.param(CPUINFO.replace("vmx", "de"), True, False, id="device without CPU support"),
        pytest.param(CPUINFO, False, False, id="no device"),
    ],
)
def test_kvm_requires_its_device_and_cpu_support(tmp_path: Path, cpuinfo: str, device: bool, works: bool) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    if device:
        (tmp_path / "kvm").touch()
    assert does_kvm_work(tmp_path / "kvm", tmp_path / "cpuinfo") == works
