"""
Build the web site in a folder named after its version, and list all versions: `python -m tools.site.build DIRECTORY`.

Earlier versions in the directory are preserved. `versions.json` has the format of mike, which the theme's version menu
reads.
"""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
REDIRECT: Final = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">virtshape {0}</a>
"""


def main(directory: Path) -> int:
    """Build the site of the current version; return the exit status of MkDocs."""
    release = version("virtshape")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(directory / release)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603
    if status == 0:
        list_versions(directory)
    return status


def list_versions(directory: Path) -> None:
    """Write versions.json with the newest version first, and a page that redirects to the newest version."""
    built = [path.name for path in directory.iterdir() if _VERSION.fullmatch(path.name)]
    newest, *_ = ordered = sorted(built, key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    entries = [{"version": name, "title": name, "aliases": ["latest"] if name == newest else []} for name in ordered]
    (directory / "versions.json").write_text(json.dumps(entries, indent=2) + "\n")
    (directory / "index.html").write_text(REDIRECT.format(newest))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
