"""
Build images with a program that reads Dockerfiles: buildah or Docker.

Both add the image to their own store and write it to an archive. buildah can also start from the base that mmdebstrap
installs, on machines that reach no registry: the settings of this machine are then part of the environment of the base
and are mounted while commands run, and the finished image contains neither.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.images.arguments import ROOT, parse_time
from tools.images.host import PATH, PLACE, build_environment
from tools.images.layers import LayerError, Store
from tools.images.oci import Layer, Settings, write_image

PROGRAMS: Final = ("buildah", "docker")
LOCAL_BASE: Final = "localhost/virtshape-base"


def find_missing_program(program: str) -> str:
    """Return why a program cannot build images here, or an empty string."""
    if shutil.which(program) is None:
        package = {"buildah": "buildah", "docker": "docker.io"}[program]
        return f"{program} is not installed: apt-get install -y --no-install-recommends {package}"
    line = {"buildah": ["buildah", "images", "--quiet"], "docker": ["docker", "version"]}[program]
    ran = subprocess.run(line, check=False, capture_output=True, text=True)
    return f"{' '.join(line)}: {ran.stderr.strip().rstrip('.?')}" if ran.returncode else ""


def build_with_program(
    program: str, dockerfile: Path, reference: str, arguments: Mapping[str, str], options: Sequence[str]
) -> None:
    """Build the image of a Dockerfile in the store of the program."""
    line = [program, "build", "--tag", reference, *options]
    line += [f"--build-arg={name}={value}" for name, value in arguments.items()]
    if program == "docker":
        _run([*line, "--file", str(dockerfile), str(ROOT)])
        return
    line += ["--layers", "--identity-label=false", f"--timestamp={parse_time(arguments['CREATED'])}"]
    with tempfile.NamedTemporaryFile("w", suffix=".Dockerfile") as file:
        file.write(insert_label_values(dockerfile.read_text(), arguments))
        file.flush()
        _run([*line, "--file", file.name, str(ROOT)])


def insert_label_values(dockerfile: str, arguments: Mapping[str, str]) -> str:
    """
    Return the Dockerfile with the values of the arguments in its LABEL instruction.

    buildah finds cached images by the text of their instructions. An image would get the labels of another commit with
    the same files if the text had only the names of the arguments.
    """
    start, keyword, labels = dockerfile.rpartition("\nLABEL ")
    for name, value in arguments.items():
        labels = labels.replace(f"${{{name}}}", value)
    return start + keyword + labels


def save_image(program: str, reference: str, target: Path) -> None:
    """Write an image in the store of a program to an archive."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    lines = {
        "buildah": ["push", "--quiet", "--compression-format=zstd", reference, f"oci-archive:{unfinished}:{reference}"],
        "docker": ["save", "--output", str(unfinished), reference],
    }
    try:
        _run([program, *lines[program]])
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def import_base(store: Store, suite: str, architecture: str) -> list[str]:
    """Import mmdebstrap's base image into buildah's store, and return the options of builds that start from it."""
    base = store.make_base(suite, architecture)
    environment = build_environment()
    about = Settings("", [], ["bash"], {"PATH": PATH, **environment}, {})
    archive = store.directory / f"{base.name}.{os.getpid()}.oci.tar"
    try:
        layer = Layer(*store.pack(base), "installed by mmdebstrap")
        write_image(archive, f"{LOCAL_BASE}:latest", architecture, store.epoch, about, [layer])
        _run(["buildah", "pull", "--quiet", f"oci-archive:{archive}"])
    finally:
        archive.unlink(missing_ok=True)
    options = ["--pull=never", f"--build-arg=BASE={LOCAL_BASE}", f"--volume={store.settings}:{PLACE}:ro"]
    return options + [f"--unsetenv={name}" for name in environment]


def _run(line: Sequence[str]) -> None:
    ran = subprocess.run(line, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode:
        raise LayerError(f"exit status {ran.returncode}: {' '.join(line)}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}")
