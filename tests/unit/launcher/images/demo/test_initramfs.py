"""Scripts of the demo guest."""

import subprocess

import pytest

from virtshape.launcher.images.demo.initramfs import SCRIPTS, read_scripts


def test_every_demo_guest_script_is_packaged() -> None:
    assert set(read_scripts()) == set(SCRIPTS.values())
    assert all(content for content in read_scripts().values())


@pytest.mark.parametrize("place", [place for place in SCRIPTS.values() if place not in {"etc/inittab", "etc/profile"}])
def test_every_demo_guest_script_is_valid_shell(place: str) -> None:
    subprocess.run(["/bin/sh", "-n"], input=read_scripts()[place], check=True)
    assert read_scripts()[place].startswith(b"#!/bin/sh\n")
