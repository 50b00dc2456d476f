"""
What all tests have in common: properties take the time they take, and some modules have no doctests to look for.

Those are the ones that need libvirt's binding, where it is not installed.
"""

from importlib.util import find_spec

from hypothesis import settings

_BOUND = ("answering", "forwarding", "guest", "looking")

collect_ignore = [] if find_spec("libvirt") else [f"src/virtshape/launcher/process/{name}.py" for name in _BOUND]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
