"""The flag `-f` for files, directories and standard input."""

import click

files_option = click.option(
    "-f",
    "--file",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="File or directory to read, or - for standard input. Can be repeated.",
)
