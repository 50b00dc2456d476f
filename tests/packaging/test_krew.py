"""krew installs, upgrades and removes `kubectl virt` with the manifest and the archives of a release."""

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from tests.support.documents import ROOT
from tests.support.kubectl import CACHE, KubectlResult, run_program
from tests.support.localindex import ARCHITECTURE, run
from tests.support.rendering import find_kubectl
from tests.support.webserver import Request, Response, Server, serve

RELEASE = version("virtshape")
NEXT = "v99.0.0"
ARCHIVE = f"kubectl-virt-{RELEASE}-linux-{ARCHITECTURE}.tar.gz"
SECONDS = 120.0


def find_krew() -> Path:
    """Return the krew of `tools/krew/build.sh`."""
    found = sorted(CACHE.glob("krew-*"))
    return found[-1] if found else pytest.skip("no krew: tools/krew/build.sh builds it with Go")


class User:
    """A user with an empty home directory, kubectl and krew, but without an index of krew."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.folder = folder
        self.root = home / "krew"
        programs = home / "bin"
        programs.mkdir()
        for name, path in {
            "kubectl": find_kubectl(),
            "kubectl-krew": find_krew(),
            "python3": Path(sys.executable),
        }.items():
            (programs / name).symlink_to(path)
        self.environment = {
            "HOME": str(home),
            "PATH": f"{self.root / 'bin'}:{programs}:/usr/bin:/bin",
            "KREW_ROOT": str(self.root),
            "KREW_NO_UPGRADE_CHECK": "1",
        }

    def run(self, line: str) -> KubectlResult:
        return run_program(["bash", "-ec", f"cd {self.folder}; {line}"], "", self.environment, SECONDS)

    def __call__(self, line: str) -> str:
        ran = self.run(line)
        assert ran.status == 0, f"{line}\n{ran.out}\n{ran.err}"
        return ran.out


@pytest.fixture
def user(release: Path, tmp_path: Path) -> User:
    return User(tmp_path, release)


def find_line(start: str) -> str:
    """Return the command of docs/install.md that starts with these words, for this release and architecture."""
    (line,) = re.findall(rf"^{start}.*$", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    return str(line).replace("VERSION", RELEASE).replace("amd64", ARCHITECTURE)


def test_documented_command_installs_the_plugin_without_an_index(user: User) -> None:
    user(find_line("kubectl krew install --manifest"))
    assert f"v{RELEASE}" in user("kubectl virt version --client")
    assert "expand" in user("kubectl virt --help")
    assert user(f"kubectl virt expand -f {ROOT}/examples/web.yaml -o json").startswith("{")


def test_krew_rejects_an_archive_that_is_not_the_one_of_the_manifest(user: User, tmp_path: Path) -> None:
    changed = bytearray((user.folder / ARCHIVE).read_bytes())
    changed[-1] ^= 1
    (tmp_path / ARCHIVE).write_bytes(changed)
    ran = user.run(f"kubectl krew install --manifest=virt.yaml --archive={tmp_path / ARCHIVE}")
    assert (ran.status, "checksum does not match" in ran.err) == (1, True)
    assert not os.path.lexists(user.root / "bin/kubectl-virt")


@pytest.fixture
def downloads(release: Path) -> Iterator[Server]:
    """A web server on loopback with the archives of the release, whatever the folder in the address."""

    def respond(request: Request) -> Response:
        return Response((release / request.path.rpartition("/")[2]).read_bytes())

    with serve(respond) as server:
        yield server


class Index:
    """A git repository that krew can use as an index, with the manifest of the release in it."""

    def __init__(self, directory: Path, manifest: Path, address: str) -> None:
        self.directory = directory
        self._manifest = yaml.safe_load(manifest.read_text())
        for platform in self._manifest["spec"]["platforms"]:
            platform["uri"] = f"{address}/{platform['uri'].rpartition('/')[2]}"
        run("git", "init", "--quiet", directory)
        self.publish(self._manifest["spec"]["version"])

    def publish(self, release: str) -> None:
        """Commit the manifest with this version."""
        self._manifest["spec"]["version"] = release
        (self.directory / "plugins").mkdir(exist_ok=True)
        (self.directory / "plugins/virt.yaml").write_text(yaml.safe_dump(self._manifest))
        run("git", "add", "--all", cwd=self.directory)
        author = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        run("git", *author, "commit", "--quiet", "--message", release, cwd=self.directory)


def test_krew_installs_upgrades_and_removes_the_plugin_of_a_separate_index(
    user: User, downloads: Server, release: Path, tmp_path: Path
) -> None:
    index = Index(tmp_path / "index", release / "virt.yaml", downloads.url)
    user(find_line("kubectl krew index add").replace("URL", f"file://{index.directory}"))
    user(find_line("kubectl krew install virtshape"))
    assert [request.path for request in downloads.requests] == [f"/{ARCHIVE}"]
    assert f"v{RELEASE}" in user("kubectl virt version --client")
    index.publish(NEXT)
    user("kubectl krew upgrade virt")
    assert user("kubectl krew list") == "virtshape/virt\n"
    assert [path.name for path in (user.root / "store/virt").iterdir()] == [NEXT]
    assert f"v{RELEASE}" in user("kubectl virt version --client")  # only the manifest has another version
    user("kubectl krew uninstall virt")
    assert not (user.root / "store/virt").exists()
    assert user.run("kubectl virt version --client").status == 1
