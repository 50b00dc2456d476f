import pytest
from tests.support.commands import call_virtctl

from virtshape.cli.errors import ArgumentError
from virtshape.cli.vm import parse_vm_name


@pytest.mark.parametrize("text", ["web", "vm/web", "vms/web", "VirtualMachine/web", "virtualmachines/web"])
def test_a_vm_is_named_with_its_kind_or_without(text: str) -> None:
    assert parse_vm_name(text) == "web"


def test_what_is_no_vm_is_not_understood() -> None:
    with pytest.raises(ArgumentError, match='"pod" is not a VM'):
        parse_vm_name("pod/web")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["stop", "web", "--force"], "Must both use --force=true and set --grace-period."),
        (["stop", "web", "--grace-period", "5"], "Must both use --force=true and set --grace-period."),
        (["restart", "web", "--grace-period", "-1"], "Invalid value for '--grace-period'"),
        (["start"], "Missing argument 'NAME'."),
    ],
    ids=["force alone", "period alone", "period below nought", "no name"],
)
def test_flags_that_mean_nothing_are_refused_before_a_server_is_asked(words: list[str], error: str) -> None:
    outcome = call_virtctl(*words)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {error}")
