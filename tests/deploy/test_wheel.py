"""The wheel contains the files of the web console."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from virtshape.web.files import BUILT_FILES

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).parent / "uv"
INSIDE = "virtshape/web/static/"


def test_wheel_has_all_files_of_the_web_console(tmp_path: Path) -> None:
    command = [str(UV), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as opened:
        contained = {name.removeprefix(INSIDE) for name in opened.namelist() if name.startswith(INSIDE)}
    assert contained == {path.relative_to(BUILT_FILES).as_posix() for path in BUILT_FILES.rglob("*") if path.is_file()}
