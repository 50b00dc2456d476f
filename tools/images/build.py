"""
Build the images of deploy/*.Dockerfile as archives with an SBOM each: `make images`.

    python -m tools.images.build [--builder mmdebstrap|buildah|docker] [--output DIRECTORY] [control] [launcher]

By default, the instructions of the Dockerfiles are executed in namespaces, on a base that mmdebstrap installs. The same
sources and Debian packages produce the same digests. This needs root, mmdebstrap and zstd. buildah and Docker build
from the same files.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.images.archive import read_image
from tools.images.arguments import ROOT, VERSION, build_arguments, get_epoch, parse_time
from tools.images.dockerfile import Dockerfile, read_dockerfile
from tools.images.host import write_settings
from tools.images.layers import LayerError, Store
from tools.images.oci import Layer, Settings, write_image
from tools.images.programs import PROGRAMS, build_with_program, find_missing_program, import_base, save_image
from tools.images.sbom import build_sbom
from tools.images.stages import Builder

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape" / "images"
NAMES: Final = {"control": "virtshape", "launcher": "virtshape-launcher"}
MMDEBSTRAP: Final = "mmdebstrap"
TESTED: Final = "amd64"
"""The architecture that the tests build and run. The launcher image supports no other: its QEMU runs x86 guests."""

_NEEDED: Final = (MMDEBSTRAP, "zstd", "unshare", "chroot")


@dataclass(frozen=True)
class Request:
    """Options of a build: the builder, base image, architecture and directories."""

    builder: str = MMDEBSTRAP
    base: str = ""
    """Another base image for buildah or Docker; `mmdebstrap` is the base of the default builder."""
    network: str = ""
    """The network of commands that buildah or Docker run, such as `host`; by default, the one they choose."""
    architecture: str = TESTED
    output: Path = ROOT / "dist" / "images"
    cache: Path = CACHE


def build_image(name: str, request: Request) -> Path:
    """Build one image with its SBOM, print what was built, and return the archive."""
    started = time.monotonic()
    archive = request.output / f"{NAMES[name]}.tar"
    dockerfile = read_dockerfile(find_dockerfile(name))
    build = _build_with_mmdebstrap if request.builder == MMDEBSTRAP else _build_with_program
    with tempfile.TemporaryDirectory() as settings:
        write_settings(Path(settings), dockerfile.suite)
        store = Store(request.cache, Path(settings), get_epoch(dockerfile))
        build(name, dockerfile, request, store, archive)
    image = read_image(archive)
    sbom = build_sbom(NAMES[name], VERSION, image)
    archive.with_suffix(".sbom.json").write_text(json.dumps(sbom, indent=2) + "\n")
    seconds, size = time.monotonic() - started, image.summary.size / 1e6
    print(f"{archive}: {get_reference(name)} {image.summary.digest}, {size:.0f} MB compressed, {seconds:.0f} s")
    return archive


def find_dockerfile(name: str) -> Path:
    """Return the Dockerfile of an image."""
    return ROOT / "deploy" / f"{name}.Dockerfile"


def get_reference(name: str) -> str:
    """Return the full name of an image, as containerd and Docker store it."""
    return f"docker.io/library/{NAMES[name]}:{VERSION}"


def _build_with_mmdebstrap(name: str, dockerfile: Dockerfile, request: Request, store: Store, archive: Path) -> None:
    arguments = build_arguments(store.epoch)
    base = store.make_base(dockerfile.suite, request.architecture)
    builder = Builder(dockerfile, store, base, arguments)
    built = builder.build()
    packed = [store.pack(layer) for layer in built.layers]
    layers = [Layer(*each, origin) for each, origin in zip(packed, built.origins, strict=True)]
    settings = Settings(built.user, built.entrypoint, built.command, built.variables, built.labels, built.directory)
    created = parse_time(arguments["CREATED"])
    write_image(archive, get_reference(name), request.architecture, created, settings, layers)
    store.prune(builder.list_layers())


def _build_with_program(name: str, dockerfile: Dockerfile, request: Request, store: Store, archive: Path) -> None:
    options = [f"--build-arg=BASE={request.base}"] if request.base else []
    if request.base == MMDEBSTRAP:
        options = import_base(store, dockerfile.suite, request.architecture)
    if request.network:
        options.append(f"--network={request.network}")
    arguments = build_arguments(store.epoch)
    build_with_program(request.builder, find_dockerfile(name), get_reference(name), arguments, options)
    save_image(request.builder, get_reference(name), archive)


def find_obstacle(builder: str = MMDEBSTRAP, base: str = "") -> str:
    """Return why this machine cannot build images, whatever is installed, or an empty string."""
    if MMDEBSTRAP not in (builder, base):
        return ""
    if os.geteuid() != 0:
        return "only root can create root file systems"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False, capture_output=True).returncode:
        return "creating namespaces is not permitted"
    return ""


def find_missing(builder: str = MMDEBSTRAP, base: str = "") -> str:
    """Return what must be installed or started before images can be built, or an empty string."""
    if builder != MMDEBSTRAP and (missing := find_missing_program(builder)):
        return missing
    needed = _NEEDED if MMDEBSTRAP in (builder, base) else ("zstd",)
    absent = [program for program in needed if shutil.which(program) is None]
    packages = " ".join(name for name in (MMDEBSTRAP, "zstd") if name in needed)
    return f"{', '.join(absent)} not installed: apt-get install -y --no-install-recommends {packages}" if absent else ""


def find_conflict(names: Sequence[str], request: Request) -> str:
    """Return why these images cannot be built for an architecture or from a base, or an empty string."""
    if unknown := set(names) - set(NAMES):
        return f"unknown images: {', '.join(sorted(unknown))}"
    if request.architecture != TESTED and "launcher" in names:
        return f"the launcher image is for {TESTED} only: its QEMU and firmware run x86 guests"
    if request.builder == MMDEBSTRAP and request.base:
        return "--base is for buildah and docker: mmdebstrap installs the base itself"
    if request.builder == MMDEBSTRAP and request.network:
        return "--network is for buildah and docker: other builds use the network of this machine"
    if request.builder == "docker" and request.base == MMDEBSTRAP:
        return "--base mmdebstrap is for buildah only"
    if request.builder != MMDEBSTRAP and request.architecture != _get_architecture():
        return f"{request.builder} builds for the architecture of this machine only"
    return ""


def _get_architecture() -> str:
    """Return Debian's name of the architecture of this machine."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def main() -> None:
    """Build the images that the arguments name."""
    parser = argparse.ArgumentParser(description="Build the images of deploy/*.Dockerfile.")
    parser.add_argument("names", nargs="*", metavar="IMAGE", help="control or launcher; default: both")
    parser.add_argument("--builder", choices=(MMDEBSTRAP, *PROGRAMS), default=MMDEBSTRAP, help="default: %(default)s")
    parser.add_argument("--base", default="", help="base image of buildah and docker; mmdebstrap: a local one")
    parser.add_argument("--network", default="", help="network of commands that buildah and docker run, such as host")
    parser.add_argument("--output", type=Path, default=Request.output)
    parser.add_argument("--architecture", default=_get_architecture(), help="Debian's name; arm64 is untested")
    parser.add_argument("--no-cache", action="store_true", help="let mmdebstrap install all packages again")
    arguments = parser.parse_args()
    request = Request(arguments.builder, arguments.base, arguments.network, arguments.architecture, arguments.output)
    names = arguments.names or list(NAMES)
    if conflict := find_conflict(names, request):
        parser.error(conflict)
    if reason := find_obstacle(request.builder, request.base) or find_missing(request.builder, request.base):
        sys.exit(f"The images cannot be built: {reason}.")
    if request.architecture != TESTED:
        print(f"Images for {request.architecture} are untested.", file=sys.stderr)
    if arguments.no_cache:
        shutil.rmtree(CACHE, ignore_errors=True)
    for name in names:
        try:
            build_image(name, request)
        except LayerError as error:
            sys.exit(f"The image {name} cannot be built: {error}")


if __name__ == "__main__":
    main()
