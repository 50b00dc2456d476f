"""Entry point of a launcher process: `python -m virtshape.launcher.guest DIRECTORY`."""

import sys
from pathlib import Path

from virtshape.launcher.guest.run import main

if __name__ == "__main__":
    main(Path(sys.argv[1]))
