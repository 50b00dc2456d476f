"""
The flag `--data-dir`: where a system keeps everything it has.

Only the flag and its default; nothing is made or read here.
"""

import os
from pathlib import Path

import click


def default_directory() -> Path:
    """`virtshape` in the user's directory for state, where programs keep what outlives them."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is to be ignored, says the XDG specification.
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "virtshape"


data_directory_option = click.option(
    "--data-dir",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_directory,
    envvar="VIRTSHAPE_DATA_DIR",
    help="Directory of the system's database, keys and kubeconfig. [default: virtshape in $XDG_STATE_HOME]",
)


def name_flag(directory: Path) -> str:
    """The flag to give to other commands about the same directory; empty for the default one."""
    return "" if directory == default_directory() else f" --data-dir {directory}"
