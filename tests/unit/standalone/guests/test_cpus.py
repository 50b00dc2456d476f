"""CPUs that guests have for themselves."""

import pytest
from tests.support.instances import build_vmi

from virtshape.api.model import JsonObject
from virtshape.standalone.guests.cpus import choose_cpus, count_cpus


@pytest.mark.parametrize(
    ("cpu", "count"),
    [
        (None, 0),
        ({"sockets": 2}, 0),
        ({"sockets": 2, "cores": 2, "threads": 1, "dedicatedCpuPlacement": True}, 4),
        ({"sockets": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}, 3),
    ],
)
def test_dedicated_cpus_include_one_for_the_emulator_thread(cpu: JsonObject | None, count: int) -> None:
    assert count_cpus(build_vmi(domain={"cpu": cpu}).spec) == count


@pytest.mark.parametrize(
    ("count", "taken", "chosen"), [(2, [], (0, 1)), (2, [0, 2], (1, 3)), (3, [0, 2], None), (0, [0, 1, 2, 3], ())]
)
def test_only_free_cpus_are_chosen(count: int, taken: list[int], chosen: tuple[int, ...] | None) -> None:
    assert choose_cpus(count, (3, 2, 1, 0), taken) == chosen
