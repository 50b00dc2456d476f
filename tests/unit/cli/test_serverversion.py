import re
from importlib.metadata import version

import pytest
from tests.support.commands import call_virtctl


def test_client_version_is_one_line_of_text() -> None:
    outcome = call_virtctl("version", "--client")
    assert (outcome.status, outcome.err) == (0, "")
    assert re.fullmatch(
        r'Client Version: version\.Info\{GitVersion:"v(\S+)", GitCommit:"", GitTreeState:"", BuildDate:"", '
        r'GoVersion:"python[\d.]+", Compiler:"cpython", Platform:"linux/\w+"\}\n',
        outcome.out,
    )
    assert f'"v{version("virtshape")}"' in outcome.out


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_client_version_is_an_object_in_yaml_and_json(output: str) -> None:
    tree = call_virtctl("version", "-c", "-o", output).tree
    assert tree["clientVersion"]["gitVersion"] == f"v{version('virtshape')}"


def test_client_version_is_printed_without_a_server() -> None:
    outcome = call_virtctl("version")
    assert outcome.status == 1
    assert outcome.out.startswith("Client Version: ")
    assert "no server is configured" in outcome.err
