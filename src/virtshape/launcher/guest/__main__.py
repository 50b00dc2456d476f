"""The launcher process by itself: `python -m virtshape.launcher.guest DIRECTORY`, as its supervisor starts it."""

import sys
from pathlib import Path

from virtshape.launcher.guest.run import main

if __name__ == "__main__":
    main(Path(sys.argv[1]))
