"""When the permission of a stream is checked again."""

import pytest

from virtshape.apiserver import sessionstreams
from virtshape.apiserver.sessionstreams import CHECK_SECONDS, StreamPermission


class Access:
    """Counts checks; `changes` and `is_permitted` are set by the tests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checks = 0
        self.changes = (0, 0)
        self.is_permitted = True
        self.now = 100.0
        monkeypatch.setattr(sessionstreams, "monotonic", lambda: self.now)
        self.permission = StreamPermission(self._check, lambda: self.changes)

    def _check(self) -> bool:
        self.checks += 1
        return self.is_permitted


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Access:
    return Access(monkeypatch)


def test_permission_is_not_checked_again_within_a_second_without_changes(access: Access) -> None:
    assert [access.permission() for _ in range(100)] == [True] * 100
    assert access.checks == 1


@pytest.mark.parametrize("changes", [(1, 0), (0, 1)], ids=["accounts", "roles"])
def test_permission_is_checked_again_after_a_change(access: Access, changes: tuple[int, int]) -> None:
    assert access.permission()
    access.is_permitted, access.changes = False, changes
    assert not access.permission()
    assert not access.permission()


def test_permission_is_checked_again_after_a_second(access: Access) -> None:
    assert access.permission()
    access.is_permitted = False
    access.now += CHECK_SECONDS
    assert not access.permission()
