"""Under load, `virtshape up` answers every request, stays responsive and does not grow."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.robustness.load import TABLE, YAML, Load, build_load_vm, name_vm, running, vms_path
from tests.support.asyncclient import AsyncConnection
from tests.support.longruns import IS_LONG, choose
from tests.support.memory import MIB, read_memory
from tests.support.upprocess import System

VMS = choose(short=300, long=50_000)
NAMESPACES = [f"load-{number}" for number in range(choose(short=5, long=100))]
WATCHERS = choose(short=40, long=1_000)
WRITERS = choose(short=20, long=200)
SECONDS = choose(short=4, long=600)
MAX_PROBE_SECONDS = 20.0
"""How long a health check or a lease may take at most, also on a busy machine; leases expire after 15 s or more."""
MAX_SLOWDOWN = 5
MIN_LIMIT_SECONDS = 0.1
OVERLOADING = 450
LISTED = 300
WAITING_SECONDS = 600.0
"""How long a list may wait for its turn."""
CHURN_ROUNDS = 6
CHURN_SECONDS = choose(short=0, long=1800)
"""How long objects are created and deleted at least; there are at least CHURN_ROUNDS rounds."""
CHURNED = 60


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    directory = tmp_path_factory.mktemp("load") / "data"
    with System(
        directory, "--no-controllers", "--history-seconds", "1", "--history-revisions", "100"
    ) as running_server:
        yield running_server


@pytest.fixture
async def load(system: System) -> AsyncIterator[Load]:
    statistics = Load(system)
    yield statistics
    await statistics.close()


async def test_server_answers_all_requests_under_load(system: System, load: Load) -> None:
    await load.create(NAMESPACES, VMS)
    async with running([load.probe(0.05, "idle")]):
        await asyncio.sleep(SECONDS / 4)
        await load.wait_for_probes("idle")
    paths = [vms_path(name) for name in NAMESPACES]
    everywhere = "/apis/kubevirt.io/v1/virtualmachines"
    clients = [load.watch(paths[number % len(paths)]) for number in range(WATCHERS)]
    clients += [
        load.write(f"{paths[number % len(paths)]}/{name_vm(number)}", pause=1.0, delay=number / WRITERS)
        for number in range(WRITERS)
    ]
    clients += [load.list(everywhere, accept, pause=1.0) for accept in ("application/json", TABLE)]
    clients.append(load.list(paths[0], YAML, pause=1.0))
    async with running([*clients, load.probe(0.05)]):
        await asyncio.sleep(SECONDS / 2)
        before = read_memory(system.process.pid)
        await asyncio.sleep(SECONDS / 2)
        await load.wait_for_probes()
        await load.wait_for_events()
    after = read_memory(system.process.pid)
    print(f"{load.describe()}\n{before / MIB:.0f} MiB, then {after / MIB:.0f} MiB")  # noqa: T201 - for -s
    assert load.events > 0
    assert 429 not in load.codes
    for kind in ("probe health", "probe lease", "probe get"):
        assert max(load.seconds[kind]) < MAX_PROBE_SECONDS
    if IS_LONG:  # in the short version, the other tests on the machine have more influence
        assert after < before * 1.2
        for kind in ("health", "lease", "get"):
            idle = max(load.percentile(f"idle {kind}", 0.99), MIN_LIMIT_SECONDS / MAX_SLOWDOWN)
            assert load.percentile(f"probe {kind}", 0.99) < MAX_SLOWDOWN * idle


async def test_overload_is_answered_with_429_while_probes_succeed(load: Load) -> None:
    await load.create(["many"], LISTED)
    connections = [load.connect() for _ in range(OVERLOADING)]
    await asyncio.gather(*(connection.request("GET", "/livez") for connection in connections))
    refused = asyncio.Event()

    async def list_as_yaml(connection: AsyncConnection) -> None:
        request = connection.format("GET", vms_path("many"))
        request = request.replace(b"host: x", b"host: x\r\naccept: " + YAML.encode())
        reply = await connection.send(request, seconds=WAITING_SECONDS)
        assert reply.status in (200, 429)
        if reply.status == 429:
            # Errors are in YAML too, as the client asked.
            assert (reply.headers["content-type"], b"TooManyRequests" in reply.body) == (YAML, True)
            assert int(reply.headers["retry-after"]) >= 1
            refused.set()

    async with running(list_as_yaml(connection) for connection in connections):
        async with asyncio.timeout(WAITING_SECONDS):
            await refused.wait()
        async with running([load.probe(0.0)]):
            await load.wait_for_probes()
    assert max(load.seconds["probe lease"]) < MAX_PROBE_SECONDS
    assert 429 not in load.codes


async def test_database_and_memory_stay_flat_under_churn(system: System, load: Load) -> None:
    await load.create(["churn"], 0)
    connections = [load.connect() for _ in range(8)]
    path = vms_path("churn")

    async def churn(connection: AsyncConnection, numbers: range) -> None:
        for number in numbers:
            load.check("create", await connection.request("POST", path, build_load_vm(number)))
            load.check("delete", await connection.request("DELETE", f"{path}/{name_vm(number)}"))

    async def run_rounds(share: float) -> tuple[int, int]:
        ends = time.monotonic() + CHURN_SECONDS * share
        rounds = 0
        while rounds < CHURN_ROUNDS * share or time.monotonic() < ends:
            rounds += 1
            parts = (range(first, CHURNED, len(connections)) for first in range(len(connections)))
            await asyncio.gather(*(churn(*pair) for pair in zip(connections, parts, strict=True)))
        await asyncio.sleep(3.0)  # for compaction, every second
        return measure_database(system.directory), read_memory(system.process.pid)

    files, memory = await run_rounds(1 / 3)
    files_after, memory_after = await run_rounds(2 / 3)
    print(f"{load.codes[200]} objects: {files / MIB:.1f} MiB, then {files_after / MIB:.1f} MiB in files; ", end="")  # noqa: T201 - for -s
    print(f"{memory / MIB:.0f} MiB, then {memory_after / MIB:.0f} MiB of memory")  # noqa: T201 - for -s
    assert files_after < files * 1.5 + 8 * MIB
    assert memory_after < memory * 1.2 + 16 * MIB


def measure_database(directory: Path) -> int:
    """Return the size of the database and its write-ahead log in bytes."""
    return sum(path.stat().st_size for path in directory.glob("virtshape.db*"))
