import io
import json
from contextlib import redirect_stdout
from importlib.metadata import version

from virtshape.cli.errors import run
from virtshape.cli.virtshape import virtshape


def _call(*arguments: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        assert run(virtshape, "virtshape", ["version", *arguments]) == 0
    return out.getvalue()


def test_version_is_one_line_of_text() -> None:
    assert _call().startswith(f"virtshape {version('virtshape')} (Python ")


def test_version_is_an_object_in_json() -> None:
    assert json.loads(_call("-o", "json"))["clientVersion"]["version"] == version("virtshape")
