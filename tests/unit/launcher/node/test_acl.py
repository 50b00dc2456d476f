"""Access control lists: one group gets search permission, and other entries stay unchanged."""

import pytest

from virtshape.launcher.node.acl import Entry, add_search

USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            [Entry(USER_OBJ, 7), Entry(GROUP_OBJ, 0), Entry(OTHER, 0)],
            [Entry(USER_OBJ, 7), Entry(GROUP_OBJ, 0), Entry(GROUP, 1, 50), Entry(MASK, 1), Entry(OTHER, 0)],
            id="a plain mode",
        ),
        pytest.param(
            [Entry(USER_OBJ, 7), Entry(GROUP_OBJ, 0), Entry(GROUP, 1, 50), Entry(MASK, 1), Entry(OTHER, 0)],
            [Entry(USER_OBJ, 7), Entry(GROUP_OBJ, 0), Entry(GROUP, 1, 50), Entry(MASK, 1), Entry(OTHER, 0)],
            id="granted before",
        ),
        pytest.param(
            [Entry(USER_OBJ, 7), Entry(USER, 7, 9), Entry(GROUP_OBJ, 5), Entry(MASK, 4), Entry(OTHER, 0)],
            [
                Entry(USER_OBJ, 7),
                Entry(USER, 4, 9),
                Entry(GROUP_OBJ, 4),
                Entry(GROUP, 1, 50),
                Entry(MASK, 5),
                Entry(OTHER, 0),
            ],
            id="a mask that held others back",
        ),
    ],
)
def test_one_group_gets_search_permission_and_others_keep_theirs(before: list[Entry], after: list[Entry]) -> None:
    assert add_search(before, 50) == after
