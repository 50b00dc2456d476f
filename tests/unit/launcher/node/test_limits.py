"""Limits of launcher processes. Each test uses its own process, because a lowered limit cannot be raised again."""

import subprocess
import sys

FLAGS = """
import json, os, resource
from virtshape.launcher.node.limits import limit_process, may_use_realtime, may_lock_memory
"""
AS_ORDINARY_USER = f"""{FLAGS}
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))
if os.geteuid() == 0:
    os.setuid(65534)
assert not may_lock_memory()
assert not may_use_realtime()
limit_process()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (512, 512)
assert resource.getrlimit(resource.RLIMIT_MEMLOCK) == (65536, 65536)
assert resource.getrlimit(resource.RLIMIT_RTPRIO) == (0, 0)
"""
AS_THIS_USER = f"""{FLAGS}
may = may_lock_memory(), may_use_realtime()
limit_process()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 16384
assert not may[0] or resource.getrlimit(resource.RLIMIT_MEMLOCK) == (-1, -1)
assert not may[1] or resource.getrlimit(resource.RLIMIT_RTPRIO) == (1, 1)
print(json.dumps(may))
"""


def can_set(limit: str, value: int) -> bool:
    """Return True if the kernel allows a process of this user to set a limit."""
    attempt = f"import resource; resource.setrlimit(resource.{limit}, ({value}, {value}))"
    return subprocess.run([sys.executable, "-c", attempt], capture_output=True, check=False).returncode == 0


def run(program: str) -> str:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_process_limits_of_an_ordinary_user_are_lowered_and_never_raised() -> None:
    run(AS_ORDINARY_USER)


def test_process_limits_are_raised_if_the_kernel_allows_it() -> None:
    expected = [can_set("RLIMIT_MEMLOCK", -1), can_set("RLIMIT_RTPRIO", 1)]
    assert run(AS_THIS_USER) == f"{str(expected).lower()}\n"
