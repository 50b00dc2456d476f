"""
Run a Kubernetes node with virtshape's images until Ctrl-C.

    python -m tools.node.start [--directory DIRECTORY] [--image ARCHIVE ...]

The kubeconfig is printed when the node is Ready. tools/node/README.md explains how to use it.
"""

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from pathlib import Path

from tools.node.node import Node
from tools.node.requirements import IMAGES, find_missing, find_obstacle, get_binaries


def main() -> None:
    """Run a node until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description="Run a Kubernetes node with virtshape's images.")
    parser.add_argument("--directory", type=Path, help="directory for logs and credentials; default: temporary")
    parser.add_argument("--image", type=Path, action="append", default=[], help="archive of an additional image")
    arguments = parser.parse_args()
    if problem := find_obstacle() or find_missing():
        sys.exit(f"The node cannot start: {problem}.")
    started = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="node-") as temporary:
        directory = (arguments.directory or Path(temporary)).absolute()
        with (
            contextlib.suppress(KeyboardInterrupt),
            Node(get_binaries(), directory, [*IMAGES, *arguments.image]) as node,
        ):
            print(f"The node is ready after {time.monotonic() - started:.0f} s. Stop it with Ctrl-C.")
            print(f"export KUBECONFIG={node.kubeconfig}", flush=True)
            signal.pause()


if __name__ == "__main__":
    main()
