"""Print objects as YAML or JSON, and rows as a table."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from virtshape.api.codec import to_tree
from virtshape.api.yaml import write_yaml
from virtshape.cli.command import output_choice

GAP = "   "
"""The space between two columns of a table."""

output_option = output_choice("yaml", "json", help="Output format.")


def print_object(value: object, output: str = "yaml") -> None:
    """Print a struct or a tree as YAML or JSON."""
    click.echo(render_object(to_tree(value), output), nl=False)


def print_objects(values: Sequence[object], output: str = "yaml") -> None:
    """Print several objects: YAML documents, or a JSON List."""
    trees = [to_tree(value) for value in values]
    if output == "json":
        click.echo(render_object({"apiVersion": "v1", "kind": "List", "items": trees}, output), nl=False)
    else:
        click.echo("---\n".join(render_object(tree, output) for tree in trees), nl=False)


def render_object(tree: Any, output: str) -> str:
    """Return a tree as text that ends with a newline."""
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(tree), indent=2).decode() + "\n"
    return write_yaml(tree)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows in aligned columns."""
    texts = [list(headers), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for text in texts:
        line = GAP.join(cell.ljust(width) for cell, width in zip(text, widths, strict=True))
        click.echo(line.rstrip())
