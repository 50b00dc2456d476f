"""The `virtshape uninstall` command: its output, its confirmation prompt and its exit status."""

import pytest
from click.testing import CliRunner
from tests.support.instances import build_vmi

from virtshape.cli.errors import ArgumentError
from virtshape.cli.uninstall import MAX_LISTED, command, confirm, print_list, print_plan
from virtshape.cluster.uninstall.inventory import ObjectRef
from virtshape.cluster.uninstall.plan import Plan

CONTROLLER = ObjectRef("apps/v1", "Deployment", "virtshape-controller", "virtshape-system")
SECRET = ObjectRef("v1", "Secret", "virtshape-webhook-tls", "virtshape-system")
PLAN = Plan(controller=CONTROLLER, guests=[build_vmi()], objects=[SECRET], kept=["PersistentVolumeClaim data"])


def test_uninstall_plan_lists_removed_and_kept_objects(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(PLAN, "https://c1", complete=True)
    assert capsys.readouterr().out.splitlines() == [
        "This removes virtshape from https://c1:",
        "  delete Deployment virtshape-controller in namespace virtshape-system",
        "  end 1 guest: default/vm1",
        "  delete 1 object",
        "Objects to delete:",
        "  Secret virtshape-webhook-tls in namespace virtshape-system",
        "This is kept:",
        "  PersistentVolumeClaim data",
    ]


def test_long_list_in_the_uninstall_plan_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    print_list("Kept:", [str(number) for number in range(MAX_LISTED + 3)], limit=MAX_LISTED)
    assert capsys.readouterr().out.splitlines()[-1] == "  and 3 more"


def test_uninstall_without_a_terminal_requires_the_yes_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(ArgumentError, match="--yes is required"):
        confirm()


def test_invalid_uninstall_flag_is_refused() -> None:
    assert CliRunner().invoke(command, ["--timeout", "-1"]).exit_code == 2
