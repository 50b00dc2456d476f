"""Settings of server processes: memory, garbage collection and thread switches."""

import subprocess
import sys

SCRIPT = """
import gc
import os
import sys
from virtshape.daemon.tuning import COLLECTION_THRESHOLDS, SWITCH_SECONDS, tune_process

MIB = 1024 * 1024

def read_resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def fragment() -> int:
    'Allocate large objects between small ones, free the large ones, and return by how much the process has grown.'
    bytearray(16 * MIB)
    before = read_resident()
    large, small = [], []
    for number in range(64):
        large.append(b"x" * MIB)
        small.append(b"x" * (1000 + number))
    del large
    return read_resident() - before

if {tunes}:
    tune_process()
    assert gc.get_threshold() == COLLECTION_THRESHOLDS
    assert gc.get_freeze_count() > 0
    assert abs(sys.getswitchinterval() - SWITCH_SECONDS) < 1e-6
print(fragment())
"""


def measure_growth(*, tunes: bool) -> float:
    script = SCRIPT.replace("{tunes}", str(tunes))
    return int(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout) / 1024**2


def test_memory_of_large_objects_is_returned_to_the_system() -> None:
    assert measure_growth(tunes=False) > 32  # the test can detect memory that is kept
    assert measure_growth(tunes=True) < 8
