"""What all tests have in common: plugins, settings of Hypothesis, and modules whose doctests need libvirt's binding."""

import os
import signal
from importlib.util import find_spec

from hypothesis import settings

pytest_plugins = [
    "tests.support.deadline",
    "tests.support.ids",
    "tests.support.parallel",
    "tests.support.progress",
    "tests.support.skipping",
]

_NEED_LIBVIRT = ("agentpoller", "credentials", "forwarding", "guest", "handler")

collect_ignore = [] if find_spec("libvirt") else [f"src/virtshape/launcher/guest/{name}.py" for name in _NEED_LIBVIRT]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # commands that tests start are ended by it

# Programs in Go, such as kubectl and kube-apiserver, collect garbage less often: more memory, less CPU time.
os.environ.setdefault("GOGC", "400")

# In CI, each run tests the same examples, so that a failure can be repeated. Other runs choose new examples.
settings.register_profile("untimed", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("untimed")
