"""Files are replaced atomically or left unchanged."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from virtshape.launcher.images.atomic import remove_leftovers, replace_file, write_atomically


def test_file_is_replaced_only_when_the_new_content_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "new" / "disk.img"
    with replace_file(target, 0o640) as partial:
        partial.write_bytes(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(target.parent.iterdir()) == [target]


def test_failed_atomic_write_does_not_change_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "disk.img"
    write_atomically(target, b"old")
    with contextlib.suppress(ZeroDivisionError), replace_file(target) as partial:
        partial.write_bytes(b"new")
        _ = 1 / 0
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_only_temporary_files_of_exited_processes_are_removed(tmp_path: Path) -> None:
    kept = [f".disk.{os.getpid()}-01234567.partial", "disk.img", ".other.partial", ".disk.1-01234567.part"]
    for name in [*kept, ".disk.999999999-01234567.partial"]:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


AS_ORDINARY_USER = """
import os
import subprocess
import sys
from pathlib import Path
from virtshape.launcher.images.atomic import write_atomically
if os.geteuid() == 0:
    os.setuid(65534)
write_atomically(Path("note.json"), b"{}", 0o444)
"""


def test_ordinary_user_can_replace_a_read_only_file(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, 65534)
    subprocess.run([sys.executable, "-c", AS_ORDINARY_USER], cwd=tmp_path, check=True)
    assert (tmp_path / "note.json").read_bytes() == b"{}"
    assert (tmp_path / "note.json").stat().st_mode & 0o777 == 0o444
