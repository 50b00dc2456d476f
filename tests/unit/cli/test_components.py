"""Required flags of the controller, API server, webhook and launcher commands."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

from virtshape.cli.errors import run
from virtshape.cli.virtshape import virtshape

FAILURE = {
    "guests without a launcher image": (["controller"], 2, "--runtime pod requires --launcher-image"),
    "lease shorter than the renewal": (
        ["controller", "--runtime=none", "--lease-seconds=5"],
        2,
        "the lease duration must exceed the renew deadline",
    ),
    "apiserver without --aggregated": (["apiserver"], 2, "--aggregated is required"),
    "missing kubeconfig": (
        ["webhook", "--kubeconfig=/nowhere/kubeconfig"],
        1,
        "kubeconfig /nowhere/kubeconfig does not exist",
    ),
    "launcher without a directory or pod": (["launcher"], 2, "exactly one of --directory and --pod is required"),
}


@pytest.mark.parametrize(("arguments", "status", "message"), FAILURE.values(), ids=FAILURE.keys())
def test_component_does_not_start_with_invalid_flags(arguments: list[str], status: int, message: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert run(virtshape, "virtshape", arguments) == status
    assert message in err.getvalue()
