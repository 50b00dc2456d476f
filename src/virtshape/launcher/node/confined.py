"""
A process of guests as root starts it: it gives up root's rights, then is what it would be for anybody else.

Started as `python -m virtshape.launcher.node.confined CONFINEMENT MODULE DIRECTORY`; the module's `main` goes on.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.layout import Layout
from virtshape.launcher.node.confining import Confinement, ConfinementError, confine
from virtshape.launcher.report import Report

_PACKAGE: Final = Path(__file__).parents[2]
_PROGRAM: Final = (sys.prefix, sys.base_prefix, *(path for path in sys.path if path), str(_PACKAGE))


def enter(confinement: Confinement | None, module: str, directory: Path) -> None:
    """Confine this process, if it is to be, then do what the module does."""
    try:
        if confinement is not None:
            confine(msgspec.structs.replace(confinement, reach=(*confinement.reach, *_PROGRAM)))
    except ConfinementError as error:
        report = Report(state="failed", reason="NotStarted", message=str(error))
        Layout(directory).report.write_bytes(msgspec.json.encode(report))
        sys.exit(str(error))
    import_module(module).main(directory)


if __name__ == "__main__":
    enter(msgspec.json.decode(sys.argv[1], type=Confinement), sys.argv[2], Path(sys.argv[3]))
