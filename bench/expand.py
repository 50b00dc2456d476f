"""
Time to expand a VM, from JSON bytes to JSON bytes.

The baseline is the standard library's json.loads of the input and json.dumps of the result. Rounds of the expander and
of the baseline alternate.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.samples import INSTANCETYPE, PREFERENCE, build_vm, encode_vms, read_recorded
from virtshape import Expander

ROUNDS = 60
CALLS = 500


def main() -> None:
    """Print the time for one VM and for 64 varied VMs, each with its ratio to the baseline."""
    objects = [
        read_recorded("instancetype.json") or json.dumps(INSTANCETYPE).encode(),
        read_recorded("preference.json") or json.dumps(PREFERENCE).encode(),
    ]
    expander = Expander(objects)
    one = read_recorded("vm.json") or json.dumps(build_vm(1)).encode()
    expected = read_recorded("expected.json")
    if expected is not None:
        assert strip(json.loads(expander.expand(one))) == strip(json.loads(expected)), "the result is wrong"
    varied = measure(expander, encode_vms(64))
    print(f"  64 varied VMs: {varied[0]:.1f} µs each, baseline {varied[1]:.1f} µs, ratio {varied[2]:.2f}")
    single = measure(expander, [one])
    print(f"  one VM: {single[0]:.1f} µs, baseline {single[1]:.1f} µs")
    print(f"ratio {single[2]:.2f}")


def measure(expander: Expander, vms: list[bytes]) -> tuple[float, float, float]:
    """Return the best microseconds per VM of the expander and of the baseline, and the median ratio of all rounds."""
    results = [json.loads(expander.expand(vm)) for vm in vms]
    pairs = list(zip(vms, results, strict=True))
    calls = max(1, CALLS // len(vms))

    def ours() -> None:
        for vm in vms:
            expander.expand(vm)

    def baseline() -> None:
        for vm, result in pairs:
            json.loads(vm)
            json.dumps(result)

    rounds = [(clock(ours, calls), clock(baseline, calls)) for _ in range(ROUNDS)]
    per_vm = 1e6 / len(vms)
    return (
        min(mine for mine, _ in rounds) * per_vm,
        min(theirs for _, theirs in rounds) * per_vm,
        statistics.median(mine / theirs for mine, theirs in rounds),
    )


def clock(work: Callable[[], None], calls: int) -> float:
    """Return the average seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def strip(tree: Any) -> Any:
    """Return the tree without empty `resources` and `status` objects."""
    if isinstance(tree, dict):
        return {key: strip(value) for key, value in tree.items() if value != {} or key not in ("resources", "status")}
    return [strip(item) for item in tree] if isinstance(tree, list) else tree
