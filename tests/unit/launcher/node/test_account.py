import os
from pathlib import Path

import pytest

from virtshape.launcher.node.account import GUEST_USER, Account, choose_account


@pytest.mark.parametrize(
    ("account", "mode", "wanted", "may"),
    [
        pytest.param(Account(os.geteuid() + 1, 1), 0o755, 1, True, id="everybody may enter"),
        pytest.param(Account(os.geteuid() + 1, 1), 0o700, 1, False, id="only its owner may enter"),
        pytest.param(Account(os.geteuid() + 1, os.getegid()), 0o710, 1, True, id="its group may enter"),
        pytest.param(
            Account(os.geteuid() + 1, 1, (os.getegid(),)), 0o760, 6, True, id="another group may read and write"
        ),
        pytest.param(Account(os.geteuid() + 1, os.getegid()), 0o707, 4, False, id="everybody but the group"),
        pytest.param(Account(0, 0), 0o000, 7, True, id="root"),
    ],
)
def test_modes_are_evaluated_like_the_kernel(
    tmp_path: Path, account: Account, mode: int, wanted: int, may: bool
) -> None:
    path = tmp_path / "directory"
    path.mkdir()
    path.chmod(mode)
    assert account.may(path, wanted) == may
    path.chmod(0o700)


def test_missing_path_is_not_accessible(tmp_path: Path) -> None:
    assert not Account(0, 0).may(tmp_path / "nothing", 1)


def test_guests_run_as_the_starting_user_but_never_as_root() -> None:
    account = choose_account()
    assert account.user == (os.geteuid() or GUEST_USER)
    assert account.user != 0
    assert 0 not in (account.group, *account.groups) or os.geteuid() != 0
