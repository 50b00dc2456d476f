from importlib.metadata import version

import pytest
from tests.commands import call_virtctl


def test_the_version_is_one_line_for_people() -> None:
    assert call_virtctl("version").out.startswith(f"virtshape {version('virtshape')} (Python ")


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_the_version_is_an_object_for_programs(output: str) -> None:
    assert call_virtctl("version", "-o", output).tree["clientVersion"]["version"] == version("virtshape")
