"""IDs of parametrized tests: they show the content of objects and are short."""

from typing import NamedTuple

import pytest
from tests.support.ids import MAX_LENGTH, pytest_make_parametrize_id
from tests.support.instances import build_vmi


class Place(NamedTuple):
    name: str
    namespace: str = "default"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"cpu": {"guest": 4}, "features": ["a", "b"]}, "cpu.guest=4, features=a b", id="mapping"),
        pytest.param({}, "empty", id="empty mapping"),
        pytest.param([], "none", id="empty list"),
        pytest.param(["--name", "vm"], "--name vm", id="list"),
        pytest.param({"b", "a"}, "a b", id="set"),
        pytest.param(Place("vm"), "name=vm", id="named tuple without its defaults"),
        pytest.param({"kind": "Pod", "metadata": {"name": "a"}}, "kind=Pod, metadata.name=a", id="only identity"),
        pytest.param({"kind": "Pod", "spec": {"a": 1}}, "spec.a=1", id="identity and more"),
        pytest.param({"struct": Place}, "struct=Place", id="type"),
        pytest.param("short", None, id="short text is left to pytest"),
        pytest.param(4, None, id="number is left to pytest"),
        pytest.param(b"\0" * 100, "\\x00" * 14 + "\\...", id="long bytes"),
    ],
)
def test_parametrize_id_shows_the_content_of_an_object(value: object, expected: str | None) -> None:
    assert pytest_make_parametrize_id(value) == expected


def test_parametrize_id_of_an_api_object_shows_its_status_and_is_short() -> None:
    made = pytest_make_parametrize_id(build_vmi("Running"))
    assert made is not None
    assert "kind=" not in made
    assert len(made) <= MAX_LENGTH


def test_long_text_is_truncated_in_a_parametrize_id() -> None:
    assert pytest_make_parametrize_id("x" * 100) == "x" * (MAX_LENGTH - 3) + "..."
