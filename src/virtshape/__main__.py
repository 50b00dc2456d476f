"""`python -m virtshape` is the command `virtshape`."""

import sys

from virtshape.cli.virtshape import main

sys.exit(main())
