"""The launcher process by itself: `python -m virtshape.launcher.process DIRECTORY`, as its supervisor starts it."""

import sys
from pathlib import Path

from virtshape.launcher.process.run import main

if __name__ == "__main__":
    main(Path(sys.argv[1]))
