import pytest

from virtshape.cli.progress import draw_bar, format_size

GIB = 1 << 30


@pytest.mark.parametrize(
    ("done", "total", "seconds", "shown"),
    [
        (0, GIB, 0.0, "0 B / 1.00 GiB [----------] 0.00% 0s"),
        (GIB // 4, GIB, 30.0, "256.00 MiB / 1.00 GiB [=>--------] 25.00% 1m30s"),
        (GIB, GIB, 75.0, "1.00 GiB / 1.00 GiB [==========] 100.00% 1m15s"),
        (0, 0, 0.0, "0 B / 0 B [==========] 100.00% 0s"),
    ],
    ids=["started", "a quarter", "done", "empty file"],
)
def test_progress_bar_shows_bytes_percentage_and_time(done: int, total: int, seconds: float, shown: str) -> None:
    assert draw_bar(done, total, seconds, columns=20) == shown


@pytest.mark.parametrize("done", [0, 1, GIB // 3, GIB - 1, GIB])
def test_progress_bar_fits_the_terminal(done: int) -> None:
    assert len(draw_bar(done, GIB, 10.0, columns=80)) <= 80


@pytest.mark.parametrize(
    ("size", "text"), [(1023, "1023 B"), (1024, "1.00 KiB"), (1536 << 10, "1.50 MiB"), (5 << 50, "5120.00 TiB")]
)
def test_upload_sizes_are_human_readable(size: int, text: str) -> None:
    assert format_size(size) == text
