"""
Writes changes to a struct back into the tree that it was read from.

What did not change stays as its author wrote it. Never changes the trees it is given.
"""

from typing import Any


def overlay(tree: Any, before: Any, after: Any) -> Any:
    """The tree with all that differs between `before` and `after`, two renderings of what was read from it."""
    if before == after:
        return tree
    match tree, before, after:
        case dict(), dict(), dict():
            kept = {key: value for key, value in tree.items() if key in after or key not in before}
            return kept | {
                key: overlay(tree.get(key), before.get(key), value)
                for key, value in after.items()
                if key not in before or before[key] != value
            }
        case list(), list(), list() if len(tree) == len(before) <= len(after):
            common = [overlay(*items) for items in zip(tree, before, after, strict=False)]
            return common + after[len(common) :]
        case _:
            return after
