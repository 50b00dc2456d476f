"""
Fuzz one target with coverage guidance: `python -m tests.fuzz.run TARGET SECONDS`.

atheris, in the dependency group `fuzz`, instruments virtshape and keeps inputs that reach new code in `build/fuzz`. An
input that fails is stored there too, as `crash-...`; `python -m tests.fuzz.run TARGET FILE` runs it again.
"""

import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutation import mutate
from tests.fuzz.target import MAX_CPU_SECONDS, MAX_INPUT_BYTES, Target, run_input

DIRECTORY = Path("build/fuzz")


def fuzz(target: Target, seconds: int, atheris: Any) -> None:
    """Run the target on mutated inputs for this time, or until an input fails; does not return."""

    def mutate_input(data: bytes, size: int, seed: int) -> bytes:
        random = Random(seed)  # noqa: S311 - libFuzzer chooses the seed
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, size))
        return mutate(data, random, target.words)[:size]

    corpus = DIRECTORY / target.name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(
        [
            "fuzz",
            str(corpus),
            f"-max_total_time={seconds}",
            f"-max_len={MAX_INPUT_BYTES}",
            f"-timeout={int(MAX_CPU_SECONDS * 10)}",
            f"-artifact_prefix={DIRECTORY}/",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            "-verbosity=0",
        ],
        lambda data: run_input(target, data),
        custom_mutator=mutate_input,
    )
    atheris.Fuzz()


def main(name: str, argument: str) -> None:
    """Fuzz a target for a number of seconds, or run it on the input in a file."""
    if not argument.isdecimal():
        from tests.fuzz.targets import TARGETS

        run_input(TARGETS[name], Path(argument).read_bytes())
        return
    import atheris  # in its own dependency group, because the package is large

    with atheris.instrument_imports(include=["virtshape"]):
        from tests.fuzz.targets import TARGETS
    fuzz(TARGETS[name], int(argument), atheris)


if __name__ == "__main__":
    main(*sys.argv[1:])
