import pytest
from tests.support.commands import call_virtctl

from virtshape.cli.errors import ArgumentError
from virtshape.cli.vm import parse_vm_name


@pytest.mark.parametrize("text", ["web", "vm/web", "vms/web", "VirtualMachine/web", "virtualmachines/web"])
def test_vm_name_can_have_a_kind_prefix(text: str) -> None:
    assert parse_vm_name(text) == "web"


def test_name_of_an_object_that_is_not_a_vm_is_rejected() -> None:
    with pytest.raises(ArgumentError, match='"pod" is not a VM'):
        parse_vm_name("pod/web")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["stop", "web", "--force"], "Must both use --force=true and set --grace-period."),
        (["stop", "web", "--grace-period", "5"], "Must both use --force=true and set --grace-period."),
        (["restart", "web", "--grace-period", "-1"], "Invalid value for '--grace-period'"),
        (["start"], "Missing argument 'NAME'."),
    ],
    ids=["only force", "only a grace period", "negative grace period", "no name"],
)
def test_invalid_vm_command_flags_are_rejected_without_a_server(arguments: list[str], error: str) -> None:
    outcome = call_virtctl(*arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {error}")
