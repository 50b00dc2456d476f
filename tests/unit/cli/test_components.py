"""Required flags of the controller, API server, webhook and launcher commands."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

from virtshape.cli.errors import run
from virtshape.cli.virtshape import virtshape

FAILURE = {
    "guests without an image": (["controller"], 2, "--runtime pod requires --launcher-image"),
    "a lease that ends too soon": (
        ["controller", "--runtime=none", "--lease-seconds=5"],
        2,
        "the lease duration must exceed the renew deadline",
    ),
    "an API server on its own": (["apiserver"], 2, "--aggregated is required"),
    "a kubeconfig that is not there": (
        ["webhook", "--kubeconfig=/nowhere/kubeconfig"],
        1,
        "kubeconfig /nowhere/kubeconfig does not exist",
    ),
    "no way to run a guest": (["launcher"], 2, "exactly one of --directory and --pod is required"),
}


@pytest.mark.parametrize(("words", "status", "told"), FAILURE.values(), ids=FAILURE.keys())
def test_component_does_not_start_with_invalid_flags(words: list[str], status: int, told: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert run(virtshape, "virtshape", words) == status
    assert told in err.getvalue()
