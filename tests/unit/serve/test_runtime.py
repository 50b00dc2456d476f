"""What runs guests, and what is said where nothing does."""

import pytest

from virtshape.serve.runtime import explain_lacks


@pytest.mark.parametrize(
    ("lacks", "words"),
    [
        (
            ["qemu-system-x86"],
            "no guest can run here: qemu-system-x86 missing (apt-get install qemu-system-x86, or run `make up`)",
        ),
        (
            ["qemu-system-x86", "qemu-utils", "virtshape[guests]"],
            (
                "no guest can run here: qemu-system-x86 and qemu-utils and virtshape[guests] missing "
                "(apt-get install qemu-system-x86 qemu-utils, then pip install 'virtshape[guests]', or run `make up`)"
            ),
        ),
        (
            ["virtshape[guests]"],
            "no guest can run here: virtshape[guests] missing (pip install 'virtshape[guests]', or run `make up`)",
        ),
    ],
)
def test_what_is_missing_is_named_with_the_next_step(lacks: list[str], words: str) -> None:
    assert explain_lacks(lacks) == words
