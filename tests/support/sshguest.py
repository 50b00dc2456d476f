"""A demo guest with an ssh server."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.demoguests import Guests, build_guest
from tests.support.sshd import START, build_sshd
from tests.support.upprocess import call_virtshape

from virtshape.launcher.images.errors import ImageError


def create_ssh_guest(guests: Guests, name: str, directory: Path) -> Path:
    """Start a guest with an ssh server, and return the private key of root; skip the test if packages are missing."""
    key = directory / "key"
    keygen = shutil.which("ssh-keygen")
    if keygen is None:
        pytest.skip("ssh-keygen is missing: install the package openssh-client")
    subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    try:
        archive = build_sshd(directory / "sshd", key.with_suffix(".pub").read_text())
    except ImageError as error:
        pytest.skip(str(error))
        raise
    claim = f"{name}-sshd"
    added = call_virtshape("image", "add", claim, archive, "--data-dir", guests.system.directory)
    assert added.returncode == 0, added.stderr
    volumes = [
        {"name": "sshd", "persistentVolumeClaim": {"claimName": claim}},
        {"name": "seed", "cloudInitNoCloud": {"userData": START}},
    ]
    disks = [{"name": disk, "disk": {"bus": "virtio"}} for disk in ("root", "sshd", "seed")]
    domain = {"memory": {"guest": "256Mi"}, "devices": {"disks": disks}}
    guests.create(build_guest(name, domain=domain, volumes=volumes))
    guests.wait_for_text(name, "eth0 has")
    guests.wait_for_text(name, "the ssh server runs")
    return key
