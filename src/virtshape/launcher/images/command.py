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
from typing import IO, Final

from virtshape.launcher.images.errors import ToolError

MAX_OUTPUT: Final = 1 << 20
_LIMITED: Final = 'ulimit -v "$1" && ulimit -t "$2" && shift 2 && exec "$@"'
_BEAT_MILLISECONDS: Final = 100
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

    `memory` limits its address space in bytes and, with it, `seconds` limits CPU time too. `beat` is called ten times
    a second; if it raises, the program is killed. `successes` are the exit codes that mean success.
    """
    limits = [] if memory is None else ["/bin/sh", "-c", _LIMITED, "sh", str(memory // 1024), str(int(seconds) + 1)]
    environment = {**os.environ, "LC_ALL": "C", **(variables or {})}
    with _open_memory() as output, _open_bounded_memory() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - a list of arguments, built by this package
                [*limits, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise ToolError(f"{command[0]} is not installed") from error
        with process:
            code = _await(process, command[0], seconds, beat)
        if code == 127 and limits:
            raise ToolError(f"{command[0]} is not installed")
        if code not in successes:
            raise ToolError(_describe(command[0], code, _read(errors).rstrip(b"\0")))
        return _read(output)


def _open_memory() -> IO[bytes]:
    return os.fdopen(os.memfd_create("output"), "w+b")


def _open_bounded_memory() -> IO[bytes]:
    """Return a memory file of fixed size: a damaged image can make a program print errors endlessly."""
    file = os.fdopen(os.memfd_create("errors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")
    file.truncate(MAX_OUTPUT)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    return file


def _await(process: "subprocess.Popen[bytes]", name: str, seconds: float, beat: Callable[[], None] | None) -> int:
    deadline = time.monotonic() + seconds
    descriptor = os.pidfd_open(process.pid)
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    is_over = False
    try:
        while not (is_over := bool(ended.poll(_BEAT_MILLISECONDS))):
            if beat is not None:
                beat()
            if time.monotonic() > deadline:
                raise ToolError(f"{name} did not end within {seconds:g} seconds")
    finally:
        os.close(descriptor)
        if not is_over:
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MAX_OUTPUT)


def _describe(name: str, code: int, errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    said = " ".join(line.strip() for line in lines[-3:])[-_MAX_ERROR_LENGTH:]
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    return f"{name} {how}{': ' + said if said else ''}"
