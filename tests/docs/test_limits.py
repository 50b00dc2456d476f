"""The limits in docs/limits.md match the code, and every row there and in SECURITY.md names a test."""

import ast
import importlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "min": 60, "h": 3600, "days": 86400}
_CODE = re.compile(r"`([^`]+)`")
_FIGURE = re.compile(r"([\d,]*\d)(?: (\w+))?")


class Row(NamedTuple):
    """One row of a table; the last cell names its tests."""

    cells: list[str]

    @property
    def tests(self) -> list[str]:
        return _CODE.findall(self.cells[-1])


def read_rows(document: str, columns: int) -> Iterator[Row]:
    """Yield the rows of all tables that have this many columns, the last of which is `test`."""
    header: list[str] = []
    for line in (ROOT / document).read_text().splitlines():
        cells = [cell.strip() for cell in line.split(" | ")] if line.startswith("| ") else []
        cells = [cell.removeprefix("| ").removesuffix(" |") for cell in cells]
        if not cells:
            header = []
        elif not header:
            header = cells
        elif len(header) == columns and header[-1] == "test" and set(cells[0]) != {"-"}:
            assert len(cells) == columns, line
            yield Row(cells)


LIMITS = list(read_rows("docs/limits.md", 5))
PROMISES = list(read_rows("SECURITY.md", 2))


def test_limit_and_security_tables_are_found() -> None:
    assert len(LIMITS) > 40
    assert len(PROMISES) > 20


def _list_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", [*LIMITS, *PROMISES], ids=lambda row: row.cells[0][:60])
def test_every_limit_and_security_promise_names_an_existing_test(row: Row) -> None:
    assert row.tests, "the last column must name a test: `unit/test_x.py::test_y`"
    for node in row.tests:
        path, _, name = node.partition("::")
        assert (TESTS / path).is_file(), node
        assert name in _list_tests(TESTS / path), node


def _read_figure(text: str) -> int | None:
    """Return the number at the start of a cell, converted to bytes or seconds; None if it is not a number."""
    found = _FIGURE.match(text)
    return int(found[1].replace(",", "")) * UNITS.get(found[2] or "", 1) if found else None


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row.cells[0][:60])
def test_every_limit_matches_the_code(row: Row) -> None:
    where, _, name = _CODE.findall(row.cells[3])[0].rpartition(".")
    if not name.isupper():  # the row names a module, because the limit is not a constant
        importlib.import_module(f"virtshape.{where}.{name}")
        return
    value = getattr(importlib.import_module(f"virtshape.{where}"), name)
    if isinstance(value, range):
        value = len(value)
    assert _read_figure(row.cells[1]) == (value.total_seconds() if isinstance(value, timedelta) else value)
