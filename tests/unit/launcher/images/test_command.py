"""Helper programs run within limits of time, memory and output, and can be cancelled."""

import os
import time
from pathlib import Path

import pytest

from virtshape.launcher.images.command import MAX_OUTPUT, run
from virtshape.launcher.images.errors import StoppedError, ToolError


def test_standard_output_of_a_helper_program_is_returned(tmp_path: Path) -> None:
    command = ["sh", "-c", 'echo "$WORD $PWD $LC_ALL"; echo not this >&2']
    assert run(command, seconds=5, directory=tmp_path, variables={"WORD": "hello"}) == f"hello {tmp_path} C\n".encode()


def test_arguments_of_a_helper_program_are_not_interpreted_by_a_shell() -> None:
    assert run(["printf", "%s", "$HOME; `id`"], seconds=5, memory=1 << 30) == b"$HOME; `id`"


def test_output_of_a_helper_program_is_truncated_at_the_limit() -> None:
    assert len(run(["head", "-c", str(MAX_OUTPUT * 2), "/dev/zero"], seconds=10)) == MAX_OUTPUT


def test_output_of_a_helper_program_beyond_the_limit_uses_no_memory() -> None:
    def measure() -> int:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Shmem:"))

    before, largest = measure(), 0

    def beat() -> None:
        nonlocal largest
        largest = max(largest, measure() - before)

    assert len(run(["sh", "-c", "head -c 1G /dev/zero; sleep 0.5"], seconds=240, beat=beat)) == MAX_OUTPUT
    assert largest < 512 << 20  # the limit allows for shared memory of other processes


def test_helper_program_that_leaves_a_child_process_returns_its_output_at_once() -> None:
    began = time.monotonic()
    assert run(["sh", "-c", "echo done; sleep 200 &"], seconds=240) == b"done\n"
    assert time.monotonic() - began < 180


def test_error_output_of_a_helper_program_is_truncated_at_the_limit() -> None:
    complain = f"head -c {MAX_OUTPUT * 4} /dev/zero | tr '\\0' x >&2; exit 7"
    with pytest.raises(ToolError, match=r"sh failed with exit code 7: x+$"):
        run(["sh", "-c", complain], seconds=240)
    assert run(["sh", "-c", "echo fine; exit 3"], seconds=240, successes=(0, 3)) == b"fine\n"


FAILURES = {
    "exit code": (["sh", "-c", "echo one >&2; echo two >&2; exit 3"], "sh failed with exit code 3: one two"),
    "signal": (["sh", "-c", "kill -9 $$"], "sh was ended by signal 9"),
    "missing": (["no-such-program"], "no-such-program is not installed"),
    "too slow": (["sleep", "60"], "sleep did not end within 0.2 seconds"),
}


@pytest.mark.parametrize(("command", "message"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("memory", [None, 1 << 30])
def test_failed_helper_program_is_reported_with_its_cause(command: list[str], message: str, memory: int | None) -> None:
    with pytest.raises(ToolError, match=message):
        run(command, seconds=0.2 if "slow" in message or "within" in message else 240, memory=memory)


def test_helper_program_beyond_its_memory_limit_fails() -> None:
    with pytest.raises(ToolError, match="dd failed"):
        run(["dd", "if=/dev/zero", "of=/dev/null", "bs=1G", "count=1"], seconds=240, memory=256 << 20)


def test_cancelled_helper_program_is_killed_with_its_children(tmp_path: Path) -> None:
    def stop() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise StoppedError("stopped on request")

    with pytest.raises(StoppedError):
        run(["sh", "-c", 'sleep 60 & echo $! > "$0/pid"; wait', str(tmp_path)], seconds=60, beat=stop)
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 240
    while _is_alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
