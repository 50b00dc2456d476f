"""Selection of the server: from the kubeconfig, as in kubectl, or the `virtshape up` that the user is running."""

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.support.commands import call_virtctl
from tests.support.webserver import Request, Response, serve

from virtshape.api.yaml import write_yaml
from virtshape.cli.connection import Target, complete_vm, current_target, get_server
from virtshape.cli.errors import CommandError
from virtshape.cli.guest.lifecycle import start as command
from virtshape.cli.localserver import NoServerError
from virtshape.store.lock import Lock


def write_config(path: Path, *names: str, current: str | None = None) -> Path:
    """Write a kubeconfig with a context for each name; by default, the first is the current context."""
    tree: dict[str, Any] = {
        "current-context": current or names[0],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in names],
        "users": [{"name": name, "user": {"token": f"token-{name}"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "namespace": f"ns-{name}"}} for name in names],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_yaml(tree))
    return path


@contextlib.contextmanager
def running(directory: Path) -> Iterator[None]:
    """Create the files of a running `virtshape up`, and lock its data directory within the `with` block."""
    write_config(directory / "kubeconfig", "own")
    lock = Lock(directory)
    try:
        yield
    finally:
        lock.close()


@pytest.fixture
def home(_without_a_server: Path) -> Path:
    return _without_a_server


def find(*, kubeconfig: str = "", context: str = "") -> tuple[str, bool]:
    access, is_own = get_server(Target(kubeconfig, context))
    return access.server.removeprefix("https://").removesuffix(":6443"), is_own


def test_kubeconfig_flag_overrides_the_environment_and_home_directory(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(home / ".kube" / "config", "home")
    assert find() == ("home", False)
    first, second = write_config(tmp_path / "1", "first", "other"), write_config(tmp_path / "2", "second")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{first}:{second}")
    assert find() == ("first", False)
    assert find(context="second") == ("second", False)
    assert find(kubeconfig=str(second)) == ("second", False)
    assert find(kubeconfig=str(first), context="other") == ("other", False)


def test_default_server_is_the_running_virtshape_of_this_user(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(home / ".local" / "state" / "virtshape"):
        assert find() == ("own", True)
    with running(tmp_path / "virtshape"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert find() == ("own", True)
    with running(tmp_path / "elsewhere"):
        monkeypatch.setenv("VIRTSHAPE_DATA_DIR", str(tmp_path / "elsewhere"))
        assert find() == ("own", True)
        write_config(home / ".kube" / "config", "home")
        assert find() == ("home", False)


def test_stopped_virtshape_is_not_selected(home: Path) -> None:
    directory = home / ".local" / "state" / "virtshape"
    with running(directory):
        pass
    with pytest.raises(NoServerError) as refused:
        find()
    assert refused.value.message == "no server is configured"
    assert refused.value.causes == (
        "neither $KUBECONFIG nor ~/.kube/config exists",
        f"no server is running in {directory}",
    )
    assert "virtshape up" in (refused.value.next_step or "")


def test_missing_kubeconfig_is_an_error(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(home / ".local" / "state" / "virtshape"):
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
        with pytest.raises(CommandError, match="which defines no server"):
            find()
        with pytest.raises(CommandError, match="does not exist"):
            find(kubeconfig=str(tmp_path / "none"))


async def test_cluster_and_user_override_the_context(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config", "a", "b")
    access, _ = get_server(Target(str(config), overrides={"cluster": "b"}))
    assert (access.server, access.namespace) == ("https://b:6443", "ns-a")
    access, _ = get_server(Target(str(config), overrides={"user": "b"}))
    assert (await access.credentials.fetch()).token.endswith("-b")
    outcome = call_virtctl("--cluster=c", "--kubeconfig", str(config), "start", "web")
    assert outcome.err.startswith('error: the kubeconfig has no cluster "c"; available: a, b\n')


def test_flag_of_a_command_takes_precedence_over_a_global_flag_with_the_same_name() -> None:
    named = call_virtctl("--cluster", "staging", "customize", "u1.medium", "--name", "x", "--catalog", "--cluster")
    assert named.tree["kind"] == "VirtualMachineClusterInstancetype"


VERSION = b'{"gitVersion": "v9"}'
TOKEN = "-".join(["s3cr3t", "words"])


def respond_with_version(request: Request) -> Response:
    return Response(VERSION) if request.path.endswith("/version") else Response(status=404)


LEVELS: dict[str, tuple[list[str], list[str]]] = {
    "nothing": ([], []),
    "level too low": (["-v", "5"], []),
    "requests": (["-v=6"], ["{head}"]),
    "requests at level 7": (["--v", "7"], ["{head}"]),
    "response bodies": (["-v8"], ["{head}", 'Response Body: {{"gitVersion": "v9"}}']),
}


@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after the command"])
@pytest.mark.parametrize(("arguments", "expected"), LEVELS.values(), ids=LEVELS)
def test_verbosity_flag_selects_the_logged_parts_of_a_request(
    arguments: list[str], expected: list[str], before: bool
) -> None:
    with serve(respond_with_version) as server:
        line = [*arguments, "version"] if before else ["version", *arguments]
        outcome = call_virtctl(*line, "--server", server.url, "--token", TOKEN)
    assert server.list_headers("Authorization") == [f"Bearer {TOKEN}"]
    assert (outcome.status, 'GitVersion:"v9"' in outcome.out) == (0, True), outcome.err
    path = "/apis/subresources.kubevirt.io/v1/version"
    head = f"GET {server.url}{path} 200 OK in N milliseconds"
    lines = re.sub(r"\d+ milliseconds", "N milliseconds", outcome.err).splitlines()
    assert lines == [one.format(head=head) for one in expected]
    assert TOKEN not in outcome.err


@pytest.mark.parametrize(("period", "status"), [("100ms", 1), ("0", 0), ("1m", 0)])
def test_request_fails_if_the_response_takes_longer_than_the_timeout(period: str, status: int) -> None:
    waited = threading.Event()

    def respond_late(request: Request) -> Response:
        waited.wait(30 if status else 0.3)
        return respond_with_version(request)

    with serve(respond_late) as server:
        try:
            outcome = call_virtctl("version", f"--request-timeout={period}", "--server", server.url)
        finally:
            waited.set()
    assert (outcome.status, "did not respond within 0.1 seconds" in outcome.err) == (status, bool(status))


@pytest.mark.parametrize("arguments", [["--request-timeout", "soon"], ["-v", "much"]])
def test_invalid_connection_flags_are_rejected(arguments: list[str]) -> None:
    assert call_virtctl("version", *arguments).status == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(["--context", "nope"], 'the kubeconfig has no context "nope"; available: a, b', id="context"),
        pytest.param([], "cannot connect to https://a:6443", id="no server listens"),
    ],
)
def test_connection_errors_suggest_the_next_step(tmp_path: Path, arguments: list[str], error: str) -> None:
    config = write_config(tmp_path / "config", "a", "b")
    outcome = call_virtctl("--kubeconfig", str(config), "start", "web", *arguments)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {error}")
    assert "--context" in outcome.err.splitlines()[-1]


def test_connection_flag_after_the_command_takes_precedence() -> None:
    seen: list[Target] = []
    probe = click.Command("probe", params=command.params, callback=lambda **_: seen.append(current_target(ctx)))
    with click.Context(probe, info_name="probe") as ctx:
        ctx.meta["virtshape.connection"] = {"namespace": "before", "context": "kept"}
        probe.parse_args(ctx, ["web", "-n", "behind"])
        probe.invoke(ctx)
    assert seen == [Target(context="kept", namespace="behind")]


def test_completion_lists_kubeconfig_entries_and_nothing_without_a_server(tmp_path: Path) -> None:
    ctx = click.Context(command)
    ctx.meta["virtshape.connection"] = {"kubeconfig": str(write_config(tmp_path / "config", "blue", "black", "red"))}
    for flag in ("context", "cluster", "user"):
        (option,) = [one for one in command.params if one.name == flag]
        offered = [item.value for item in option.shell_complete(ctx, "bl")]
        assert offered == ["black", "blue"]
    assert complete_vm(click.Context(command), command.params[0], "") == []


@pytest.mark.parametrize("arguments", [["vm", "--memory", "1Gi"], ["instancetype", "--cpu", "1", "--memory", "1Gi"]])
def test_namespace_flag_before_the_command_is_set_in_manifests(arguments: list[str]) -> None:
    assert call_virtctl("-n", "team", "create", *arguments).tree["metadata"]["namespace"] == "team"
    assert call_virtctl("-n", "team", "create", *arguments, "-n", "other").tree["metadata"]["namespace"] == "other"
