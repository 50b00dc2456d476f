"""
Run programs on images: with resource limits, in a separate session, killed on timeout or cancellation.

Arguments are passed as a list. A shell only sets the limits and then executes the program.
"""

import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, cast

from virtshape.launcher.images.errors import ToolError

MAX_OUTPUT: Final = 1 << 20
_LIMITED: Final = 'ulimit -v "$1" && ulimit -t "$2" && shift 2 && exec "$@"'
_BEAT_MILLISECONDS: Final = 100
_CHUNK: Final = 64 * 1024
_MAX_ERROR_LENGTH: Final = 400


def run(
    command: Sequence[str],
    *,
    seconds: float,
    memory: int | None = None,
    beat: Callable[[], None] | None = None,
    directory: Path | None = None,
    variables: Mapping[str, str] | None = None,
    successes: Collection[int] = (0,),
) -> bytes:
    """
    Run a program and return its output, at most one MiB.

    `memory` limits its address space in bytes; if it is set, `seconds` limits the CPU time too. `beat` is called ten
    times a second; if `beat` raises, the program is killed. `successes` are the exit codes that mean success.
    """
    limits = [] if memory is None else ["/bin/sh", "-c", _LIMITED, "sh", str(memory // 1024), str(int(seconds) + 1)]
    environment = {**os.environ, "LC_ALL": "C", **(variables or {})}
    output = bytearray()
    with _open_bounded_memory() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - a list of arguments, built by this package
                [*limits, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise ToolError(f"{command[0]} is not installed") from error
        with process:
            code = _await(process, command[0], seconds, beat, output)
        if code == 127 and limits:
            raise ToolError(f"{command[0]} is not installed")
        if code not in successes:
            errors.seek(0)
            raise ToolError(_describe(command[0], code, errors.read(MAX_OUTPUT).rstrip(b"\0")))
        return bytes(output)


def _open_bounded_memory() -> IO[bytes]:
    """Return an in-memory file of fixed size, because a damaged image can make a program print errors endlessly."""
    file = os.fdopen(os.memfd_create("errors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")
    file.truncate(MAX_OUTPUT)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    return file


def _await(
    process: "subprocess.Popen[bytes]",
    name: str,
    seconds: float,
    beat: Callable[[], None] | None,
    output: bytearray,
) -> int:
    deadline, next_beat = time.monotonic() + seconds, 0.0
    descriptor = os.pidfd_open(process.pid)
    pipe = cast("IO[bytes]", process.stdout).fileno()
    os.set_blocking(pipe, False)
    events = select.poll()
    events.register(descriptor, select.POLLIN)
    events.register(pipe, select.POLLIN)
    is_over = False
    try:
        while not is_over:
            ready = {number for number, _ in events.poll(_BEAT_MILLISECONDS)}
            if pipe in ready and not _read_available(pipe, output):
                events.unregister(pipe)
            is_over = descriptor in ready
            now = time.monotonic()
            if beat is not None and now >= next_beat and not is_over:
                next_beat = now + _BEAT_MILLISECONDS / 1000
                beat()
            if now > deadline and not is_over:
                raise ToolError(f"{name} did not end within {seconds:g} seconds")
        while _read_available(pipe, output):
            pass
    finally:
        os.close(descriptor)
        if not is_over:
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _read_available(pipe: int, output: bytearray) -> bool:
    """Read available output, and drop output above the limit; return False if no output is available."""
    try:
        data = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return False
    output += data[: MAX_OUTPUT - len(output)]
    return bool(data)


def _describe(name: str, code: int, errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    said = " ".join(line.strip() for line in lines[-3:])[-_MAX_ERROR_LENGTH:]
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    return f"{name} {how}{': ' + said if said else ''}"
