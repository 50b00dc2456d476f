"""
Run the benchmarks named on the command line (`python -m bench expand`), or all of them.

Each benchmark is a module with a function `main`, which prints its results.
"""

import importlib
import sys

NAMES = ("start", "expand", "lint", "server", "control", "guests", "cluster", "web", "scrape")


def main() -> int:
    """Run the benchmarks named on the command line, or all of them; return the exit status."""
    wanted = sys.argv[1:] or ["all"]
    names = NAMES if wanted == ["all"] else wanted
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: all, {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"{name}:")
        importlib.import_module(f"bench.{name}").main()
    return 0


sys.exit(main())
