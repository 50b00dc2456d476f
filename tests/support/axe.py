"""Accessibility rules of axe-core, checked on a page. axe-core is a development dependency of the console."""

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page

_PROGRAM: Final = Path(__file__).parents[2] / "console/node_modules/axe-core/axe.min.js"
_RUN: Final = """() => axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(
    one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html + " " + node.any.map(a => a.message)).join("; ")}`
))"""


def list_violations(page: Page) -> list[str]:
    """Return the rules that the page violates, each with its elements; skip if axe-core is not installed."""
    if not _PROGRAM.exists():
        pytest.skip("axe-core is missing: make console installs it")
    page.evaluate(_PROGRAM.read_text())
    violations: list[str] = page.evaluate(_RUN)
    return violations
