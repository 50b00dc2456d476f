"""Every fuzz target handles its example inputs, generated inputs and long inputs."""

from random import Random

import pytest
from tests.fuzz.mutation import mutate
from tests.fuzz.target import MAX_INPUT_BYTES, Target, measure_input, run_input
from tests.fuzz.targets import TARGETS
from tests.support.longruns import choose

CASES = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
GENERATED = choose(short=1000, long=20_000)
LONG_BYTES = 64 * 1024
MAX_LONG_SECONDS = 0.5
"""CPU time of an input of LONG_BYTES that is accepted whatever its growth."""


@CASES
def test_target_handles_generated_inputs(target: Target) -> None:
    random = Random(target.name)  # noqa: S311 - the same inputs in every run
    for seed in target.seeds:
        run_input(target, seed)
    for _ in range(GENERATED):
        run_input(target, mutate(random.choice(target.seeds), random, target.words)[:MAX_INPUT_BYTES])


@CASES
def test_cpu_time_of_a_target_does_not_grow_with_the_square_of_the_input(target: Target) -> None:
    seed = min(target.seeds, key=len)
    parts = [*target.words, seed, b"[", b"{", b'{"a":', b"a: ", b"a", b"1", b" ", b"\n", b"\\", b'"', b"\xff", b","]
    for part in parts:
        for start in (b"", seed):
            small, large = (start + part * (size // len(part)) for size in (LONG_BYTES // 4, LONG_BYTES))
            seconds = measure_input(target, large)
            if seconds > MAX_LONG_SECONDS:
                assert seconds < 9 * measure_input(target, small), (part, start)
