import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.support.guests import build_guest

from virtshape.api.codec import encode
from virtshape.cli.errors import run
from virtshape.cli.virtshape import virtshape
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.report import Report


def test_launcher_rejects_a_directory_without_a_launch_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(virtshape, "virtshape", ["launcher", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/guest.json does not exist\n`virtshape up` writes it for each instance.\n"
    )


def test_launcher_reports_a_start_failure_and_exits_with_an_error(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 25)
    directory.mkdir()
    layout = Layout(directory)
    layout.launch_request.write_bytes(encode(LaunchRequest(vmi=build_guest("uid"))))
    code = "import sys; from virtshape.cli.virtshape import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "launcher", "--directory", str(directory)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 1
    report = msgspec.json.decode(layout.report.read_bytes(), type=Report)
    assert (report.state, report.reason) == ("failed", "NotStarted")
    assert report.message == f"the path {directory} is too long for the sockets that QEMU needs there"
