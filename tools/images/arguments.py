"""Build arguments of deploy/*.Dockerfile: the version, the commit, and times."""

import calendar
import os
import subprocess
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.images.dockerfile import Dockerfile

ROOT: Final = Path(__file__).parents[2]
VERSION: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def get_epoch(dockerfile: Dockerfile) -> int:
    """Return the latest time of files in the image: SOURCE_DATE_EPOCH, or the date of the base image."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or calendar.timegm(time.strptime(dockerfile.date, "%Y%m%d")))


def build_arguments(epoch: int) -> dict[str, str]:
    """
    Return the values of the build arguments.

    The creation time of the image is SOURCE_DATE_EPOCH, else the time of the commit, else (without git) `epoch`.
    """
    created = os.environ.get("SOURCE_DATE_EPOCH") or _run_git("log", "-1", "--format=%ct") or epoch
    return {
        "SOURCE_DATE_EPOCH": str(epoch),
        "VERSION": VERSION,
        "REVISION": _run_git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"),
        "CREATED": format_time(int(created)),
    }


def format_time(seconds: int) -> str:
    """Return a time in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> int:
    """Return the seconds of a time in RFC 3339."""
    return int(datetime.fromisoformat(text).timestamp())


def _run_git(*arguments: str) -> str:
    """Return the output of git; an empty string outside a checkout and without git."""
    try:
        ran = subprocess.run(["git", "-C", str(ROOT), *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return "" if ran.returncode else ran.stdout.strip()
