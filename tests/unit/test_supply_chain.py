"""Dependencies are pinned by hash, listed in an SBOM and audited."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

ROOT = Path(__file__).parents[2]
VENV = Path(sys.executable).parents[1]
UV = VENV / "bin" / "uv"
PINNED = ROOT / "tools" / "python" / "uv.txt"
INSTALLERS = [ROOT / "tools" / "setup.sh", *sorted((ROOT / "deploy").glob("*.Dockerfile"))]

needs_uv = pytest.mark.skipif(not UV.exists(), reason="this environment was not set up by make")


def read_lock() -> dict[str, dict[str, Any]]:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    return {package["name"]: package for package in packages}


def test_every_locked_file_has_a_hash() -> None:
    for name, package in read_lock().items():
        if "registry" in package["source"]:
            files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
            assert files, name
            assert all(file["hash"].startswith("sha256:") for file in files), name


def test_build_backends_are_pinned_to_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = project["tool"]["uv"]["build-constraint-dependencies"]
    assert all(re.fullmatch(r"[a-z-]+==[0-9.]+", pin) for pin in pins)
    names = {pin.partition("==")[0] for pin in pins}
    assert {re.match(r"[a-z-]+", need)[0] for need in project["build-system"]["requires"]} | {"setuptools"} <= names  # type: ignore[index]


def test_uv_is_pinned_to_a_version_and_hashes() -> None:
    lines = [line for line in PINNED.read_text().splitlines() if not line.startswith("#")]
    assert re.fullmatch(r"uv==\d+\.\d+\.\d+ \\", lines[0])
    assert len(lines) > 10
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line) for line in lines[1:])


@pytest.mark.parametrize("path", INSTALLERS, ids=lambda path: path.name)
def test_only_pinned_packages_are_installed(path: Path) -> None:
    text = re.sub(r"\\\n\s*", "", path.read_text())
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    installs = [line for line in lines if "pip install" in line]
    assert installs
    assert all("--require-hashes" in line and "uv.txt" in line for line in installs)
    syncs = [line for line in lines if re.search(r"\buv\"? sync\b", line)]
    assert syncs
    assert all("--frozen" in line or "--locked" in line for line in syncs)


def test_only_development_targets_install_the_dev_group() -> None:
    """`make up` and the images install only runtime dependencies; other targets also install the group `dev`."""
    for path in INSTALLERS:
        syncs = [line for line in path.read_text().splitlines() if re.search(r"\buv\"? sync\b", line)]
        assert all("--no-dev" in line for line in syncs), path.name
    makefile = (ROOT / "Makefile").read_text()
    syncs = [line for line in makefile.splitlines() if "uv sync" in line]
    assert syncs
    assert all("--frozen" in line for line in syncs)
    runs_without = {
        target for target, needs in re.findall(r"^([\w-]+): (.*)$", makefile, re.MULTILINE) if "RUNTIME" in needs
    }
    assert runs_without == {"up", "tour"}


@pytest.mark.parametrize("path", sorted((ROOT / "deploy").glob("*.Dockerfile")), ids=lambda path: path.name)
def test_base_images_are_pinned_by_exact_tag_and_digest(path: Path) -> None:
    text = path.read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    tag, _, digest = base.partition("@")
    assert re.fullmatch(r"debian:bookworm-\d{8}-slim", tag)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}


@needs_uv
def test_sbom_lists_locked_packages_with_versions_and_hashes(tmp_path: Path) -> None:
    target = tmp_path / "sbom.json"
    made = subprocess.run(
        ["make", "-s", "-o", ".venv/.ready", "sbom", f"SBOM={target}", f"BIN={VENV / 'bin'}"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    bom = json.loads(target.read_text())
    assert (bom["bomFormat"], bom["specVersion"], bom["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "1.5",
        "virtshape",
    )
    locked = {name: package["version"] for name, package in read_lock().items() if name != "virtshape"}
    assert {part["name"]: part["version"] for part in bom["components"]} == locked
    assert {part["purl"] for part in bom["components"]} == {
        f"pkg:pypi/{name}@{version}" for name, version in locked.items()
    }
    for part in bom["components"]:
        hashes = {f"sha256:{found['content']}" for file in part["externalReferences"] for found in file["hashes"]}
        package = read_lock()[part["name"]]
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        assert hashes == {file["hash"] for file in files}, part["name"]


class FakeVulnerabilityService(BaseHTTPRequestHandler):
    """A vulnerability service that returns a finding for click, no findings, or an error."""

    finding: ClassVar[dict[str, Any]] = {
        "id": "PYSEC-2026-1",
        "modified": "2026-01-01T00:00:00Z",
        "summary": "a fake finding",
        "affected": [{"package": {"ecosystem": "PyPI", "name": "click"}}],
    }

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["content-length"])))["queries"]
        affected = self.server.behaviour == "findings"  # type: ignore[attr-defined]
        found = {"vulns": [{"id": self.finding["id"], "modified": self.finding["modified"]}]}
        self._answer({"results": [found if affected and q["package"]["name"] == "click" else {} for q in queries]})

    def do_GET(self) -> None:
        self._answer(self.finding)

    def _answer(self, tree: object) -> None:
        body = json.dumps(tree).encode()
        self.send_response(403 if self.server.behaviour == "denied" else 200)  # type: ignore[attr-defined]
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_osv(behaviour: str) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeVulnerabilityService) as server:
        server.behaviour = behaviour  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def audit(url: str, optional: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", ROOT / "tools" / "audit.sh"],  # noqa: S607
        env={
            **os.environ,
            "AUDIT_URL": url,
            "AUDIT_OPTIONAL": optional,
            "VENV": str(VENV),
            "UV_NO_CACHE": "1",
            "UV_HTTP_RETRIES": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@needs_uv
@pytest.mark.parametrize(
    ("behaviour", "status", "message"),
    [
        ("nothing", 0, "no known vulnerabilities"),
        ("findings", 1, "PYSEC-2026-1: a fake finding"),
        ("denied", 2, "cannot be reached: the dependencies were NOT audited"),
    ],
)
def test_audit_fails_on_findings_and_reports_an_unreachable_service(behaviour: str, status: int, message: str) -> None:
    with serve_osv(behaviour) as url:
        ran = audit(url)
    assert ran.returncode == status, ran.stderr
    assert message in ran.stdout + ran.stderr


@needs_uv
@pytest.mark.parametrize(("optional", "status"), [("", 2), ("1", 0)])
def test_audit_without_a_service_passes_only_if_the_audit_is_optional(optional: str, status: int) -> None:
    ran = audit("http://127.0.0.1:9/", optional)
    assert ran.returncode == status
    assert "the dependencies were NOT audited" in ran.stderr
