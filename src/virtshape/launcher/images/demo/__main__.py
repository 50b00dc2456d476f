"""
Write the disk of the demo guest to a file, for the launcher's container image.

    python -m virtshape.launcher.images.demo FILE
"""

import shutil
import sys
import tempfile
from pathlib import Path

from virtshape.launcher.images.demo.build import ensure_demo_image
from virtshape.launcher.images.errors import ToolError


def main(arguments: list[str]) -> int:
    """Build the disk and write it to the file; return the exit status."""
    if len(arguments) != 1:
        sys.exit("usage: python -m virtshape.launcher.images.demo FILE")
    target = Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        try:
            disk = ensure_demo_image(Path(directory))
        except ToolError as error:
            sys.exit(str(error))
        shutil.copyfile(disk, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
