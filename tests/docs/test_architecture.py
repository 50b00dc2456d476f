"""Check docs/architecture.md: its layers are those that import-linter enforces, and every module it names exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "src/virtshape"
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
_LAYER = re.compile(r"^\| (\d+) \| `(\w+)` \|", re.MULTILINE)
_MODULE = re.compile(r"`([a-z]+(?:\.[a-z_]+)+)`")


def _list_modules() -> list[str]:
    found = sorted(set(_MODULE.findall(ARCHITECTURE)))
    return [name for name in found if (PACKAGES / name.partition(".")[0]).is_dir()]


def test_layers_match_import_linter() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    enforced = {
        (number, package.strip().removeprefix("virtshape."))
        for number, layer in enumerate(layers, 1)
        for package in layer.split("|")
    }
    assert {(int(number), package) for number, package in _LAYER.findall(ARCHITECTURE)} == enforced


def test_modules_are_named() -> None:
    assert len(_list_modules()) > 20


@pytest.mark.parametrize("name", _list_modules())
def test_every_named_module_exists(name: str) -> None:
    path = PACKAGES / name.replace(".", "/")
    owner = path.parent.with_suffix(".py")  # a function of a module, such as `engine.apply`
    assert path.is_dir() or path.with_suffix(".py").is_file() or owner.is_file(), name
