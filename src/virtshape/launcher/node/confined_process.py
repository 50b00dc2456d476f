"""
Entry point of launcher processes that root starts: drop privileges, then run a module.

Started as `python -m virtshape.launcher.node.confined_process CONFINEMENT MODULE DIRECTORY`.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.layout import Layout
from virtshape.launcher.node.confinement import Confinement, ConfinementError, confine
from virtshape.launcher.report import Report

_PACKAGE: Final = Path(__file__).parents[2]
_PROGRAM: Final = (sys.prefix, sys.base_prefix, *(path for path in sys.path if path), str(_PACKAGE))


def run_confined(confinement: Confinement | None, module: str, directory: Path) -> None:
    """Confine this process if `confinement` is given, then run the module's `main`."""
    try:
        if confinement is not None:
            confine(msgspec.structs.replace(confinement, reach=(*confinement.reach, *_PROGRAM)))
    except ConfinementError as error:
        report = Report(state="failed", reason="NotStarted", message=str(error))
        Layout(directory).report.write_bytes(msgspec.json.encode(report))
        sys.exit(str(error))
    import_module(module).main(directory)


if __name__ == "__main__":
    run_confined(msgspec.json.decode(sys.argv[1], type=Confinement), sys.argv[2], Path(sys.argv[3]))
