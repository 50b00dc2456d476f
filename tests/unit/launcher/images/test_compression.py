"""Compressed images are decompressed completely, as sparse files and within the size limit."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from virtshape.launcher.images.compression import unpack
from virtshape.launcher.images.errors import RefusedImageError, StoppedError
from virtshape.launcher.images.progress import until

MIB = 1 << 20
CONTENT = b"begin" + bytes(5 * MIB) + b"middle" + bytes(3 * MIB)
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress}
FORMS = pytest.mark.parametrize("form", PACKERS)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "disk.img"


def pack(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "packed").write_bytes(content)
    return tmp_path / "packed"


@FORMS
def test_image_is_decompressed_as_a_sparse_file(tmp_path: Path, target: Path, form: str) -> None:
    progress_calls: list[tuple[int, int | None]] = []
    source = pack(tmp_path, PACKERS[form](CONTENT))
    unpack(source, form, target, len(CONTENT), lambda *how_far: progress_calls.append(how_far))
    assert target.read_bytes() == CONTENT
    assert target.stat().st_blocks * 512 < MIB
    assert progress_calls[-1] == (source.stat().st_size,) * 2


@FORMS
def test_concatenated_compressed_streams_are_one_image(tmp_path: Path, target: Path, form: str) -> None:
    padding = bytes(8) if form == "xz" else b""
    source = pack(tmp_path, PACKERS[form](CONTENT) + padding + PACKERS[form](b"more") + padding)
    unpack(source, form, target, None)
    assert target.read_bytes() == CONTENT + b"more"


@FORMS
def test_image_larger_than_the_limit_is_refused(tmp_path: Path, target: Path, form: str) -> None:
    with pytest.raises(RefusedImageError, match="larger than the 1048576 bytes"):
        unpack(pack(tmp_path, PACKERS[form](bytes(10 * MIB))), form, target, MIB)


@FORMS
@pytest.mark.parametrize("harm", [lambda packed: packed[:-9], lambda packed: packed[:200] + b"x" * 20 + packed[220:]])
def test_damaged_compressed_file_is_refused(
    tmp_path: Path, target: Path, form: str, harm: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(RefusedImageError, match=f"the {form} file is damaged"):
        unpack(pack(tmp_path, harm(PACKERS[form](CONTENT * 3))), form, target, None)


@pytest.mark.parametrize("form", ["zst", "zip"])
def test_refusal_of_a_compression_lists_the_supported_formats(tmp_path: Path, target: Path, form: str) -> None:
    with pytest.raises(RefusedImageError, match=f"compression format {form} is not supported: use gz, xz or bz2"):
        unpack(pack(tmp_path, b"x"), form, target, None)


def test_file_that_needs_too_much_memory_to_decompress_is_refused(tmp_path: Path, target: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 512 * MIB}]
    with pytest.raises(RefusedImageError, match="Memory usage limit"):
        unpack(pack(tmp_path, lzma.compress(b"x" * 100, filters=filters)), "xz", target, None)


@FORMS
def test_decompression_can_be_cancelled(tmp_path: Path, target: Path, form: str) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(StoppedError):
        unpack(pack(tmp_path, PACKERS[form](CONTENT)), form, target, None, until(stop))
