"""Check docs/architecture.md: import-linter enforces its table of packages, and every module it names exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "src/virtshape"
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
_ROW = re.compile(r"^\| `(\w+)` \| .+ \| (nothing of ours|`[^|]+`) \|$", re.MULTILINE)
_MODULE = re.compile(r"`([a-z]+(?:\.[a-z_]+)+)`")


def _list_modules() -> list[str]:
    found = sorted(set(_MODULE.findall(ARCHITECTURE)))
    return [name for name in found if (PACKAGES / name.partition(".")[0]).is_dir()]


def _read_table() -> dict[str, set[str]]:
    """Return the packages that each package may import: those in its row, and the imports of those packages."""
    rows = {package: set(re.findall(r"`(\w+)`", allowed)) for package, allowed in _ROW.findall(ARCHITECTURE)}

    def list_allowed(package: str) -> set[str]:
        return rows[package].union(*map(list_allowed, rows[package]))

    return {package: list_allowed(package) for package in rows}


def _read_contracts() -> dict[str, set[str]]:
    """Return which of our packages each package must not import."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    forbidden: dict[str, set[str]] = {}
    for contract in settings["contracts"]:
        assert contract["type"] == "forbidden"
        assert contract.keys() == {"name", "type", "source_modules", "forbidden_modules"}, (
            "a contract has no exceptions"
        )
        ours = {
            name.removeprefix("virtshape.") for name in contract["forbidden_modules"] if name.startswith("virtshape.")
        }
        for source in contract["source_modules"]:
            forbidden.setdefault(source.removeprefix("virtshape."), set()).update(ours)
    return forbidden


def test_every_package_has_a_row_in_the_architecture_table() -> None:
    assert set(_read_table()) == {path.parent.name for path in PACKAGES.glob("*/__init__.py")}


def test_import_linter_forbids_imports_that_the_table_does_not_allow() -> None:
    table = _read_table()
    denied = {package: set(table) - allowed - {package} for package, allowed in table.items()}
    assert {package: denied for package, denied in denied.items() if denied} == _read_contracts()


def test_list_of_modules_in_the_architecture_document_is_not_empty() -> None:
    assert len(_list_modules()) > 20


@pytest.mark.parametrize("name", _list_modules())
def test_every_module_in_the_architecture_document_exists(name: str) -> None:
    path = PACKAGES / name.replace(".", "/")
    owner = path.parent.with_suffix(".py")  # `name` may be a function of a module, such as `engine.apply`
    assert path.is_dir() or path.with_suffix(".py").is_file() or owner.is_file(), name
