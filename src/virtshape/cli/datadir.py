"""The flag `--data-dir` and its default."""

import os
from pathlib import Path
from typing import Final

import click

DATA_DIRECTORY_VARIABLE: Final = "VIRTSHAPE_DATA_DIR"


def default_directory() -> Path:
    """Return the default data directory: `virtshape` in the user's XDG state directory."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification requires relative paths to be ignored.
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "virtshape"


data_directory_option = click.option(
    "--data-dir",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_directory,
    envvar=DATA_DIRECTORY_VARIABLE,
    help="Directory with the server's database, keys and kubeconfig. [default: $XDG_STATE_HOME/virtshape]",
)


def name_flag(directory: Path) -> str:
    """Return the --data-dir flag for commands that messages suggest; empty for the default directory."""
    return "" if directory == default_directory() else f" --data-dir {directory}"
