import subprocess
import sys

LOOK = """
import resource
from virtshape.launcher.machine.limits import limit_process, may_be_urgent, may_lock_memory
may = may_lock_memory(), may_be_urgent()
limit_process()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert 0 < resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 16384
assert may == ((resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == resource.RLIM_INFINITY), may[1])
assert not may[1] or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] == 1
"""


def test_limits_are_set_and_raised_only_where_they_can_be() -> None:
    subprocess.run([sys.executable, "-c", LOOK], check=True)
