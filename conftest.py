"""Which modules have no doctests to look for: those that need libvirt's binding, where it is not installed."""

from importlib.util import find_spec

_BOUND = ("answering", "forwarding", "guest", "looking")

collect_ignore = [] if find_spec("libvirt") else [f"src/virtshape/launcher/process/{name}.py" for name in _BOUND]
