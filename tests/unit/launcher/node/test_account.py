import os
from pathlib import Path

import pytest

from virtshape.launcher.node.account import GUEST_USER, Account, choose_account


@pytest.mark.parametrize(
    ("account", "mode", "wanted", "may"),
    [
        pytest.param(Account(os.geteuid() + 1, 1), 0o755, 1, True, id="public directory"),
        pytest.param(Account(os.geteuid() + 1, 1), 0o700, 1, False, id="directory of its owner"),
        pytest.param(Account(os.geteuid() + 1, os.getegid()), 0o710, 1, True, id="directory of its group"),
        pytest.param(Account(os.geteuid() + 1, 1, (os.getegid(),)), 0o760, 6, True, id="directory of another group"),
        pytest.param(Account(os.geteuid() + 1, os.getegid()), 0o707, 4, False, id="public except for the group"),
        pytest.param(Account(0, 0), 0o000, 7, True, id="root"),
    ],
)
def test_file_modes_are_evaluated_as_in_the_kernel(
    tmp_path: Path, account: Account, mode: int, wanted: int, may: bool
) -> None:
    path = tmp_path / "directory"
    path.mkdir()
    path.chmod(mode)
    assert account.may(path, wanted) == may
    path.chmod(0o700)


def test_missing_path_is_not_accessible_to_any_account(tmp_path: Path) -> None:
    assert not Account(0, 0).may(tmp_path / "nothing", 1)


def test_guests_run_as_the_starting_user_but_never_as_root() -> None:
    account = choose_account()
    assert account.user == (os.geteuid() or GUEST_USER)
    assert account.user != 0
    assert 0 not in (account.group, *account.groups) or os.geteuid() != 0
