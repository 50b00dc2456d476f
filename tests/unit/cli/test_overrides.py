from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from virtshape.cli.command import Command
from virtshape.cli.connection import Target, connection_options, declare_flags, get_server
from virtshape.cli.group import Entry, LazyGroup
from virtshape.cli.overrides import FLAGS, format_flags


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory."""
    for name in ("KUBECONFIG", "VIRTSHAPE_DATA_DIR", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("home")
def test_server_flag_requires_no_kubeconfig() -> None:
    access, is_own = get_server(Target(overrides={"server": "https://there", "as_": "jdoe"}))
    assert (access.server, access.acting_as.user, access.namespace, is_own) == (
        "https://there",
        "jdoe",
        "default",
        False,
    )


COMMAND_LINES: dict[str, tuple[list[str], dict[str, object]]] = {
    "after the command": (["show", "-s", "https://x", "--token=t"], {"server": "https://x", "token": "t"}),
    "before the command": (["--insecure-skip-tls-verify", "show"], {"insecure_skip_tls_verify": True}),
    "before and after the command": (["--as", "a", "show", "--as", "b"], {"as_": "b"}),
    "connection flags": (
        ["-v=6", "show", "--request-timeout", "5s", "--user=u"],
        {"verbosity": 6, "request_timeout": "5s", "user": "u"},
    ),
    "several": (["show", "--as-group", "a", "--as-group=b"], {"as_group": ("a", "b")}),
    "nothing": (["show"], {}),
}


@pytest.mark.parametrize(("arguments", "overrides"), COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_connection_flags_are_accepted_before_and_after_the_command(
    arguments: list[str], overrides: dict[str, object]
) -> None:
    seen: list[Target] = []

    @click.command("show", cls=Command)
    @connection_options
    def show(target: Target) -> None:
        seen.append(target)

    class OneCommand(LazyGroup):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002 - click's signature
            return show

    @click.group(cls=OneCommand, entries={"show": Entry("", "")})
    @declare_flags
    def group() -> None:
        """A command group that accepts connection flags."""

    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 0, result.output
    assert seen[0].overrides == overrides


def test_connection_flags_are_formatted_for_a_subprocess() -> None:
    overrides = {
        "cluster": "staging",
        "server": "https://x",
        "client_key": "key.pem",
        "insecure_skip_tls_verify": True,
        "as_group": ("a", "b"),
        "request_timeout": "1m30s",
        "verbosity": 6,
    }
    assert format_flags(overrides) == [
        "--cluster=staging",
        "--server=https://x",
        f"--client-key={Path('key.pem').absolute()}",
        "--insecure-skip-tls-verify=true",
        "--as-group=a",
        "--as-group=b",
        "--request-timeout=1m30s",
        "--v=6",
    ]


def test_every_connection_flag_has_help() -> None:
    assert [name for name, flag in FLAGS.items() if not flag.help.endswith(".")] == []
