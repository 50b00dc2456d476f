"""Access control lists: search permission is added for one group, and other entries are unchanged."""

import pytest

from virtshape.launcher.node.acl import Entries, add_search, format_acl, parse_acl

USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
NO_ID = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            {(USER_OBJ, NO_ID): 7, (GROUP_OBJ, NO_ID): 0, (OTHER, NO_ID): 0},
            {(USER_OBJ, NO_ID): 7, (GROUP_OBJ, NO_ID): 0, (GROUP, 50): 1, (MASK, NO_ID): 1, (OTHER, NO_ID): 0},
            id="without an ACL",
        ),
        pytest.param(
            {(USER_OBJ, NO_ID): 7, (GROUP_OBJ, NO_ID): 0, (GROUP, 50): 1, (MASK, NO_ID): 1, (OTHER, NO_ID): 0},
            {(USER_OBJ, NO_ID): 7, (GROUP_OBJ, NO_ID): 0, (GROUP, 50): 1, (MASK, NO_ID): 1, (OTHER, NO_ID): 0},
            id="already granted",
        ),
        pytest.param(
            {(USER_OBJ, NO_ID): 7, (USER, 9): 7, (GROUP_OBJ, NO_ID): 5, (MASK, NO_ID): 4, (OTHER, NO_ID): 0},
            {
                (USER_OBJ, NO_ID): 7,
                (USER, 9): 4,
                (GROUP_OBJ, NO_ID): 4,
                (GROUP, 50): 1,
                (MASK, NO_ID): 5,
                (OTHER, NO_ID): 0,
            },
            id="restrictive mask",
        ),
    ],
)
def test_search_permission_of_a_group_is_added_to_an_acl(before: Entries, after: Entries) -> None:
    written = parse_acl(format_acl(add_search(before, 50)))
    assert list(written.items()) == list(after.items())
