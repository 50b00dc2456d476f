"""docs/images/tour.svg shows what its commands print, and refers to no other files."""

import subprocess
import sys
from xml.etree import ElementTree as ET

from tests.support.documents import ROOT

PICTURE = ROOT / "docs/images/tour.svg"
SVG = "{http://www.w3.org/2000/svg}"


def test_animated_session_shows_the_current_output() -> None:
    ran = subprocess.run(
        [sys.executable, "docs/tourimage.py", "--check"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_animated_session_has_no_scripts_and_no_references() -> None:
    tree = ET.parse(PICTURE)  # noqa: S314 - our own file
    assert {element.tag.removeprefix(SVG) for element in tree.iter()} == {
        *("svg", "title", "style", "rect", "circle", "g", "text", "tspan")
    }
    style = next(tree.iter(f"{SVG}style")).text or ""
    assert "url(" not in style
    assert "@import" not in style
    assert "@keyframes" in style


def test_readme_shows_the_animated_session_and_is_short() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "](docs/images/tour.svg)" in readme
    assert len(readme.splitlines()) < 250
