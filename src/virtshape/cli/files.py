"""
The flag `-f`: files, folders and standard input.

Only the flag; reading is done elsewhere.
"""

import click

files_option = click.option(
    "-f",
    "--file",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="File or folder to read, or - for standard input. May be given several times.",
)
