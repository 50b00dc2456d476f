"""Which server a command asks: as kubectl finds it, and else the `virtshape up` of this user."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.commands import call_virtctl

from virtshape.api.yaml import write_yaml
from virtshape.cli.connection import NoServer, Target, complete_context, complete_vm, current_target, find_server
from virtshape.cli.errors import Refusal
from virtshape.cli.start import command
from virtshape.store.lock import Lock


def write_config(path: Path, *names: str, current: str | None = None) -> Path:
    """A kubeconfig with a context for each name; the first is the current one."""
    tree: dict[str, Any] = {
        "current-context": current or names[0],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "namespace": f"ns-{name}"}} for name in names],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_yaml(tree))
    return path


@contextlib.contextmanager
def running(directory: Path) -> Iterator[None]:
    """A system that runs in a directory, as far as anybody can see."""
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
    access, is_own = find_server(Target(kubeconfig, context))
    return access.server.removeprefix("https://").removesuffix(":6443"), is_own


def test_flags_beat_the_environment_and_that_the_home_directory(
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


def test_where_nothing_is_said_it_is_the_system_that_this_user_runs(
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


def test_a_system_that_does_not_run_is_none(home: Path) -> None:
    directory = home / ".local" / "state" / "virtshape"
    with running(directory):
        pass
    with pytest.raises(NoServer) as refused:
        find()
    assert refused.value.message == "no server is known"
    assert refused.value.causes == (
        "there is neither $KUBECONFIG nor ~/.kube/config",
        f"no system runs in {directory}",
    )
    assert "virtshape up" in (refused.value.next_step or "")


def test_a_kubeconfig_that_is_not_there_is_not_passed_over(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(home / ".local" / "state" / "virtshape"):
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
        with pytest.raises(Refusal, match="no server stands there"):
            find()
        with pytest.raises(Refusal, match="there is no such kubeconfig"):
            find(kubeconfig=str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["--context", "nope"], 'the kubeconfig has no context "nope"; there are a, b', id="context"),
        pytest.param([], "cannot connect to https://a:6443", id="nobody answers"),
    ],
)
def test_errors_say_what_to_do_next(tmp_path: Path, words: list[str], error: str) -> None:
    config = write_config(tmp_path / "config", "a", "b")
    outcome = call_virtctl("--kubeconfig", str(config), "start", "web", *words)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {error}")
    assert "--context" in outcome.err.splitlines()[-1]


def test_a_flag_behind_the_command_beats_one_before_it() -> None:
    seen: list[Target] = []
    probe = click.Command("probe", params=command.params, callback=lambda **_: seen.append(current_target(ctx)))
    with click.Context(probe, info_name="probe") as ctx:
        ctx.meta["virtshape.connection"] = {"namespace": "before", "context": "kept"}
        probe.parse_args(ctx, ["web", "-n", "behind"])
        probe.invoke(ctx)
    assert seen == [Target(context="kept", namespace="behind")]


def test_completion_offers_contexts_and_is_silent_without_a_server(tmp_path: Path) -> None:
    ctx = click.Context(command)
    ctx.meta["virtshape.connection"] = {"kubeconfig": str(write_config(tmp_path / "config", "blue", "black", "red"))}
    offered = [item.value for item in complete_context(ctx, command.params[0], "bl")]
    assert offered == ["black", "blue"]
    assert complete_vm(click.Context(command), command.params[0], "") == []


@pytest.mark.parametrize("words", [["vm", "--memory", "1Gi"], ["instancetype", "--cpu", "1", "--memory", "1Gi"]])
def test_a_namespace_before_the_command_is_written_into_manifests(words: list[str]) -> None:
    assert call_virtctl("-n", "team", "create", *words).tree["metadata"]["namespace"] == "team"
    assert call_virtctl("-n", "team", "create", *words, "-n", "other").tree["metadata"]["namespace"] == "other"
