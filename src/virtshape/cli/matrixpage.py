"""The compatibility matrix as an HTML page that needs no scripts and no other files."""

from collections.abc import Sequence
from html import escape
from typing import Final

_STYLE: Final = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem; }
.scroll { overflow: auto; max-height: 85vh; }
table { border-collapse: separate; border-spacing: 0; }
th, td { border: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top; }
th { background: Canvas; white-space: nowrap; }
thead th { position: sticky; top: 0; z-index: 1; }
tbody th { position: sticky; left: 0; }
thead th:first-child { left: 0; z-index: 2; }
.yes { background: light-dark(#e3f4e6, #123d1b); }
.no { background: light-dark(#fbe6e4, #4a1714); }
ul { margin: .25rem 0 0; padding-left: 1rem; min-width: 16rem; }
"""


def render_page(rows: Sequence[str], columns: Sequence[str], reasons: Sequence[Sequence[Sequence[str]]]) -> str:
    """Return the page: instance types as rows, preferences as columns, and why a pair is incompatible."""
    yes = sum(not cell for cells in reasons for cell in cells)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(_render_row(name, cells) for name, cells in zip(rows, reasons, strict=True))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Instance types and preferences</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        "<h1>Instance types and preferences</h1>\n"
        f"<p>{yes} of {len(rows) * len(columns)} pairs can be used together. Select a no to see the reasons.</p>\n"
        '<div class="scroll" role="region" aria-label="Compatibility matrix" tabindex="0">\n<table>\n'
        f'<thead>\n<tr><th scope="col">Instance type</th>{head}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n'
        "</table>\n</div>\n</body>\n</html>\n"
    )


def _render_row(name: str, cells: Sequence[Sequence[str]]) -> str:
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_render_cell, cells))}</tr>\n'


def _render_cell(reasons: Sequence[str]) -> str:
    if not reasons:
        return '<td class="yes">yes</td>'
    items = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    return f'<td class="no"><details><summary>no</summary><ul>{items}</ul></details></td>'
