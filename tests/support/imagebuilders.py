"""buildah, and a Docker daemon for tests alone, as builders of `make images`, with their own image stores."""

import fcntl
import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tests.support.upprocess import wait_until
from tools.images.archive import Image, read_image
from tools.images.arguments import ROOT, get_epoch
from tools.images.build import MMDEBSTRAP, NAMES, TESTED, find_dockerfile
from tools.images.dockerfile import read_dockerfile
from tools.images.host import PATH, PLACE, build_environment, write_settings
from tools.images.layers import Store, write_archive
from tools.node.namespaces import DIE_WITH_PARENT, remove_cgroups

MAX_STORED_IMAGES = 300
"""Maximum number of images in the cache of a builder, about one per instruction; above it, the cache is cleared."""


class Built(NamedTuple):
    """An image and its SBOM."""

    image: Image
    sbom: Any


class ImageBuilder:
    """A program that builds images from Dockerfiles."""

    list_images: ClassVar[tuple[str, ...]]
    clear: ClassVar[tuple[str, ...]]
    options: tuple[str, ...]
    """Options of `make images` that select this builder and its base image."""

    def __init__(self, directory: Path, cache: Path, **variables: str) -> None:
        self.directory = directory
        self.cache = cache
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **variables}
        directory.mkdir(parents=True, exist_ok=True)

    def run(self, *line: str | Path) -> str:
        """Run a command with the image store of this builder and return its output."""
        ran = subprocess.run(line, cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def clear_large_store(self) -> None:
        """Delete all images if there are too many."""
        if len(self.run(*self.list_images).splitlines()) > MAX_STORED_IMAGES:
            self.run(*self.clear)

    def build_both(self, name: str, output: Path) -> tuple[Built, Built]:
        """Return the image of `make images` and the image of this builder."""
        return self._build(name, output), self._build(name, output, *self.options)

    def _build(self, name: str, output: Path, *options: str) -> Built:
        self.run(sys.executable, "-m", "tools.images.build", "--output", output, *options, name)
        archive = output / f"{NAMES[name]}.tar"
        built = Built(read_image(archive), json.loads(archive.with_suffix(".sbom.json").read_text()))
        archive.unlink()
        return built

    def close(self) -> None:
        """Stop what runs for this builder."""


class Buildah(ImageBuilder):
    """buildah, which starts no daemon."""

    list_images = ("buildah", "images", "--all", "--quiet")
    clear = ("buildah", "rmi", "--all", "--force")
    options = ("--builder", "buildah", "--base", MMDEBSTRAP)

    def __init__(self, directory: Path, cache: Path) -> None:
        settings = directory / "storage.conf"
        super().__init__(directory, cache, CONTAINERS_STORAGE_CONF=str(settings), BUILDAH_ISOLATION="chroot")
        paths = f'graphroot = "{directory / "images"}"\nrunroot = "{directory / "run"}"\n'
        settings.write_text(f'[storage]\ndriver = "overlay"\n{paths}')

    def close(self) -> None:
        """Unmount the directory of the layers, which buildah mounts on itself."""
        store = self.directory / "images" / "overlay"
        if store.is_mount():
            self.run("umount", store)


class Docker(ImageBuilder):
    """
    Docker, whose daemon runs until `close`. Commands use the network of this machine.

    The base is the one that mmdebstrap installs. The settings of this machine are added to containers, not to images.
    """

    list_images = ("docker", "images", "--all", "--quiet")
    clear = ("docker", "system", "prune", "--all", "--force")

    def __init__(self, programs: Path, directory: Path, cache: Path) -> None:
        path = f"{programs}/usr/bin:{programs}/usr/sbin:{os.environ['PATH']}"
        own = {
            "DOCKER_HOST": f"unix://{directory}/docker.sock",
            "DOCKER_CONFIG": str(directory),
            "DOCKER_BUILDKIT": "0",
        }
        super().__init__(directory, cache, PATH=path, **own)
        self._lock = (directory / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # another run of the tests may use the same store
        self._cgroup = f"virtshape-docker-{secrets.token_hex(4)}"
        self._log = directory / "dockerd.log"
        self._start()
        self.clear_large_store()
        self.options = ("--builder", "docker", "--base", self._import_base(), "--network", "host")

    def _start(self) -> None:
        daemon = ["dockerd", f"--data-root={self.directory}/data", f"--exec-root={self.directory}/exec"]
        daemon += [f"--pidfile={self.directory}/pid", f"--host={self.environment['DOCKER_HOST']}"]
        daemon += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=overlay2"]
        daemon += ["--oom-score-adjust=0", f"--cgroup-parent=/{self._cgroup}", "--log-level=warn"]
        daemon += [f"--add-runtime=settings={self._write_runtime()}", "--default-runtime=settings"]
        # containerd's shims have sockets in this directory
        command = f"mkdir -p /run/containerd; mount -t tmpfs tmpfs /run/containerd; exec {shlex.join(daemon)}"
        namespaces = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
        line = [*DIE_WITH_PARENT, "unshare", *namespaces]
        with self._log.open("wb") as log:
            self._holder = subprocess.Popen([*line, "sh", "-ec", command], env=self.environment, stdout=log, stderr=log)
        try:
            wait_until(self._is_ready, self._log.read_text)
        except AssertionError:
            self.close()
            raise

    def _is_ready(self) -> bool:
        assert self._holder.poll() is None, self._log.read_text()
        probe = subprocess.run(["docker", "version"], env=self.environment, capture_output=True, check=False)  # noqa: S607
        return probe.returncode == 0

    def _write_runtime(self) -> Path:
        """Write the OCI runtime: runc, after the settings were added to the container."""
        dockerfile = read_dockerfile(find_dockerfile("control"))
        write_settings(self.directory / "settings", dockerfile.suite)
        added = {"target": PLACE, "source": str(self.directory / "settings"), "variables": build_environment()}
        settings, runtime = self.directory / "settings.json", self.directory / "runtime"
        settings.write_text(json.dumps(added))
        program = Path(__file__).with_name("containersettings.py")
        add = shlex.join([sys.executable, str(program), str(settings)])
        runtime.write_text(f'#!/bin/sh\n{add} "$@" && exec runc "$@"\n')
        runtime.chmod(0o755)
        return runtime

    def _import_base(self) -> str:
        """Import mmdebstrap's base once, and return its name: an import always gives a new image."""
        dockerfile = read_dockerfile(find_dockerfile("control"))
        store = Store(self.cache / "virtshape" / "images", self.directory / "settings", get_epoch(dockerfile))
        base = store.make_base(dockerfile.suite, TESTED)
        reference = f"localhost/virtshape-base:{base.name}"
        if not self.run("docker", "images", "--quiet", reference):
            archive = self.directory / "base.tar"
            write_archive(base, archive, store.epoch)
            self.run("docker", "import", "--change", f"ENV PATH={PATH}", archive, reference)
            archive.unlink()
        return reference

    def close(self) -> None:
        """Kill the daemon, and remove its cgroups and sockets."""
        self._holder.kill()  # because of --kill-child, this also kills containerd
        self._holder.wait()
        remove_cgroups(self._cgroup)
        shutil.rmtree(self.directory / "exec", ignore_errors=True)
        (self.directory / "pid").unlink(missing_ok=True)
        self._lock.close()
