"""The images of deploy/*.Dockerfile: their instructions, reproducible archives, and the archives of `make images`."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.containers import build_docker_save, build_layer, pack
from tests.support.containers import write_archive as write_files
from tests.support.skipping import IMPOSSIBLE
from tools.images.archive import Summary, read_image, read_summary
from tools.images.arguments import ROOT, VERSION, build_arguments
from tools.images.build import NAMES
from tools.images.dockerfile import (
    Dockerfile,
    expand,
    parse_arguments,
    parse_copy,
    parse_declaration,
    parse_pairs,
    read_dockerfile,
)
from tools.images.layers import KEPT_BUILDS, Store, write_archive
from tools.images.oci import Layer, Settings, write_image
from tools.images.programs import insert_label_values

from virtshape.controllers.pods.build import COMMAND, GUEST_USER

MAX_BYTES = {"control": 120_000_000, "launcher": 200_000_000}
EPOCH = 1_700_000_000
PREFIX = "org.opencontainers.image."


def read(name: str) -> Dockerfile:
    return read_dockerfile(ROOT / "deploy" / f"{name}.Dockerfile")


def find_last(name: str, instruction: str) -> str:
    """Return the text of the last instruction with this name in the last stage."""
    return [each.text for each in read(name).stages[-1].instructions if each.name == instruction][-1]


def list_packages(name: str) -> list[str]:
    """Return the packages that the last stage installs."""
    runs = [each.text for each in read(name).stages[-1].instructions if each.name == "RUN"]
    (installed,) = [found[1] for run in runs if (found := re.search(r"--no-install-recommends ([^&]*)", run))]
    return str(installed).split()


def test_both_images_have_the_same_dated_base() -> None:
    assert read("control").base == read("launcher").base
    assert (read("control").suite, re.fullmatch(r"\d{8}", read("control").date) is not None) == ("bookworm", True)


def read_labels(name: str, arguments: dict[str, str]) -> dict[str, str]:
    """Return the labels of a Dockerfile without the prefix that all of them have."""
    labels = parse_pairs(expand(find_last(name, "LABEL"), arguments))
    assert all(label.startswith(PREFIX) for label in labels)
    return {label.removeprefix(PREFIX): value for label, value in labels.items()}


@pytest.mark.parametrize("name", NAMES)
def test_image_has_labels_and_a_user_other_than_root(name: str) -> None:
    labels = read_labels(name, {"VERSION": "1.2.3", "REVISION": "abc", "CREATED": "2026-01-01T00:00:00Z"})
    assert labels.pop("description")
    assert labels == {
        "title": NAMES[name],
        "version": "1.2.3",
        "revision": "abc",
        "created": "2026-01-01T00:00:00Z",
        "licenses": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"],
    }
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", find_last(name, "USER"))


@pytest.mark.parametrize("name", NAMES)
def test_dockerfile_does_not_repeat_the_version(name: str) -> None:
    assert VERSION not in (ROOT / "deploy" / f"{name}.Dockerfile").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_labels_for_buildah_have_the_values_of_the_build_arguments(name: str, tmp_path: Path) -> None:
    text = (ROOT / "deploy" / f"{name}.Dockerfile").read_text()
    arguments = {"VERSION": "1.2.3", "REVISION": "abc", "CREATED": "2026-01-02T03:04:05Z", "SOURCE_DATE_EPOCH": "1"}
    copy = tmp_path / "Dockerfile"
    copy.write_text(insert_label_values(text, arguments))
    own, inserted = (
        next(each.text for each in dockerfile.stages[-1].instructions if each.name == "LABEL")
        for dockerfile in (read(name), read_dockerfile(copy))
    )
    assert "$" not in inserted
    assert parse_pairs(inserted) == parse_pairs(expand(own, arguments))
    assert copy.read_text().partition("\nLABEL ")[0] == text.partition("\nLABEL ")[0]


def run_git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S607


def test_build_arguments_contain_the_version_and_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip(f"{IMPOSSIBLE}the sources are not a git checkout")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    arguments = build_arguments(EPOCH)
    assert re.fullmatch(f"{run_git('rev-parse', 'HEAD')}(-dirty)?", arguments.pop("REVISION"))
    created = datetime.fromtimestamp(int(run_git("log", "-1", "--format=%ct")), UTC)
    assert arguments == {
        "SOURCE_DATE_EPOCH": str(EPOCH),
        "VERSION": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"],
        "CREATED": f"{created:%Y-%m-%dT%H:%M:%SZ}",
    }


def test_source_date_epoch_sets_the_time_of_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert build_arguments(EPOCH)["CREATED"] == "1970-01-02T00:00:00Z"


def test_launcher_image_and_launcher_pods_have_the_same_user_and_command() -> None:
    assert find_last("launcher", "USER") == f"{GUEST_USER}:{GUEST_USER}"
    started = parse_arguments(find_last("launcher", "ENTRYPOINT")) + parse_arguments(find_last("launcher", "CMD"))
    assert started == list(COMMAND)


def test_unknown_instruction_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("ARG BASE=debian:bookworm-20260101-slim@sha256:0\nFROM ${BASE}\nADD a b\n")
    with pytest.raises(ValueError, match="ADD a b: instruction not supported"):
        read_dockerfile(path)


def test_argument_instruction_is_parsed_into_name_and_default() -> None:
    assert parse_declaration("NAME=a=b") == ("NAME", "a=b")
    assert parse_declaration("NAME=") == ("NAME", "")
    assert parse_declaration("NAME") == ("NAME", None)


def test_variables_of_instructions_are_expanded() -> None:
    assert expand("a=$A b=${B}c d=${MISSING}", {"A": "1", "B": "2"}) == "a=1 b=2c d="


def test_copy_instruction_is_parsed_into_stage_sources_and_target() -> None:
    assert parse_copy("--from=build /opt/a /opt/b") == ("build", ["/opt/a"], "/opt/b")
    assert parse_copy("a b ./") == ("", ["a", "b"], "./")


def test_layer_unpacked_from_an_archive_has_no_devices(tmp_path: Path) -> None:
    (tmp_path / "root/dev").mkdir(parents=True)
    for name in ("file", "dev/null"):
        (tmp_path / "root" / name).write_text("")
    with tarfile.open(tmp_path / "root.tar", "w") as archive:
        archive.add(tmp_path / "root", ".")
    store = Store(tmp_path / "store", tmp_path / "settings", EPOCH)
    layer = store.unpack(tmp_path / "root.tar")
    assert sorted(str(path.relative_to(layer)) for path in layer.rglob("*")) == [
        "dev",
        "etc",
        "etc/hosts",
        "etc/resolv.conf",
        "file",
    ]
    assert store.unpack(tmp_path / "root.tar") == layer


def test_archive_of_a_layer_is_reproducible(tmp_path: Path) -> None:
    for number, names in enumerate((("b", "a"), ("a", "b"))):
        root = tmp_path / str(number)
        (root / "etc").mkdir(parents=True)
        for name in names:
            (root / "etc" / name).write_text(name)
        os.link(root / "etc" / "a", root / "etc" / "c")
        (root / "etc" / "d").symlink_to("a")
        write_archive(root, tmp_path / f"{number}.tar", EPOCH)
    assert (tmp_path / "0.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()
    with tarfile.open(tmp_path / "0.tar") as tar:
        assert tar.getnames() == ["etc", "etc/a", "etc/b", "etc/c", "etc/d"]
        assert (tar.getmember("etc/c").linkname, tar.getmember("etc/d").linkname) == ("etc/a", "a")
        assert max(each.mtime for each in tar.getmembers()) == EPOCH


def test_files_deleted_by_an_upper_layer_are_not_in_the_image(tmp_path: Path) -> None:
    kept = tarfile.TarInfo("etc/kept")
    linked = tarfile.TarInfo("etc/linked")
    linked.type, linked.linkname = tarfile.LNKTYPE, "etc/kept"
    names = ["var/lib/dpkg/status", "etc/deleted/file", "opaque/old", "other"]
    lower = [*map(tarfile.TarInfo, names), kept, linked]
    upper = [tarfile.TarInfo(name) for name in ("etc/.wh.deleted", "opaque/new", "opaque/.wh..wh..opq")]
    layers = []
    for number, entries in enumerate((lower, upper)):
        path = tmp_path / f"{number}.tar"
        with tarfile.open(path, "w") as tar:
            for entry in entries:
                tar.addfile(entry, io.BytesIO())
        layers.append(Layer(path, "sha256:0", "", compression=""))
    write_image(tmp_path / "image.tar", "a:1", "amd64", EPOCH, Settings("1:1", [], [], {}, {"a": "b"}), layers)
    image = read_image(tmp_path / "image.tar")
    assert set(image.files) == {"var/lib/dpkg/status", "opaque/new", "other", "etc/kept", "etc/linked"}
    assert image.files["etc/linked"] == image.files["etc/kept"]
    config = image.summary.config["config"]
    assert (config["User"], config["Labels"]) == ("1:1", {"a": "b"})


def test_archive_of_docker_save_is_read(tmp_path: Path) -> None:
    layers = [build_layer({"var/lib/dpkg/status": b"Package: a\n"}), pack(build_layer({"etc/new": b""}))]
    image = read_image(write_files(tmp_path / "image.tar", build_docker_save(layers)))
    assert (image.dpkg_status, set(image.files)) == ("Package: a\n", {"var/lib/dpkg/status", "etc/new"})
    assert image.summary.size == sum(map(len, layers))


def open_image(name: str) -> Summary:
    """Return the configuration of a built image."""
    path = ROOT / "dist" / "images" / f"{NAMES[name]}.tar"
    if not path.exists() and os.geteuid() != 0:
        pytest.skip(f"{IMPOSSIBLE}only root can build images")
    if not path.exists():
        pytest.skip(f"{path.name} is not built: run make images as root")
    return read_summary(path)


@pytest.mark.parametrize("name", NAMES)
def test_built_image_has_the_configuration_of_its_dockerfile(name: str) -> None:
    image = open_image(name)
    config = image.config["config"]
    assert config["User"] == find_last(name, "USER")
    assert config["Entrypoint"] == parse_arguments(find_last(name, "ENTRYPOINT"))
    assert config["Cmd"] == parse_arguments(find_last(name, "CMD"))
    assert {each.partition("=")[0] for each in config["Env"]} == set(parse_pairs(find_last(name, "ENV")))
    labels = {label.removeprefix(PREFIX): value for label, value in config["Labels"].items()}
    arguments = {"VERSION": VERSION, "REVISION": labels["revision"], "CREATED": image.config["created"]}
    assert labels == read_labels(name, arguments)
    assert re.fullmatch(r"([0-9a-f]{40}(-dirty)?)?", labels["revision"])
    assert image.size < MAX_BYTES[name]


@pytest.mark.parametrize("name", NAMES)
def test_sbom_lists_the_packages_of_the_dockerfile(name: str) -> None:
    open_image(name)
    sbom = json.loads((ROOT / "dist" / "images" / f"{NAMES[name]}.sbom.json").read_text())
    versions = {each["name"]: each["version"] for each in sbom["components"]}
    assert set(list_packages(name)) <= set(versions)
    assert (sbom["metadata"]["component"]["version"], versions["virtshape"]) == (VERSION, VERSION)
    assert ("libvirt-python" in versions) == (name == "launcher")


def run_build(*arguments: str, path: str = os.environ["PATH"]) -> str:
    """Return why the images cannot be built."""
    line = [sys.executable, "-m", "tools.images.build", *arguments]
    ran = subprocess.run(line, cwd=ROOT, env={"PATH": path}, check=False, capture_output=True, text=True)
    assert ran.returncode != 0
    return ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--architecture arm64", "the launcher image is for amd64 only: its QEMU and firmware run x86 guests"),
        ("--architecture arm64 launcher", "the launcher image is for amd64 only: its QEMU and firmware run x86 guests"),
        ("--base a", "--base is for buildah and docker: mmdebstrap installs the base itself"),
        ("--builder docker --base mmdebstrap", "--base mmdebstrap is for buildah only"),
        ("console", "unknown images: console"),
    ],
)
def test_images_that_cannot_be_built_are_refused_with_the_reason(arguments: str, message: str) -> None:
    assert run_build(*arguments.split()) == f"build.py: error: {message}"


@pytest.mark.parametrize(("builder", "package"), [("buildah", "buildah"), ("docker", "docker.io")])
def test_missing_builder_is_named_with_its_package(builder: str, package: str, tmp_path: Path) -> None:
    install = f"apt-get install -y --no-install-recommends {package}"
    message = f"The images cannot be built: {builder} is not installed: {install}."
    assert run_build("--builder", builder, path=str(tmp_path)) == message


def test_layers_of_old_builds_are_deleted(tmp_path: Path) -> None:
    store = Store(tmp_path / "images", tmp_path, EPOCH)
    for number in range(KEPT_BUILDS + 1):
        layer = store.directory / f"layer{number}"
        layer.mkdir()
        layer.with_suffix(".digest").write_text("")
        for path in (layer, layer.with_suffix(".digest")):
            os.utime(path, (EPOCH, EPOCH))
        store.prune([layer, store.directory / "base"])
    kept = {path.name for path in store.directory.glob("layer*")}
    assert kept == {f"layer{n}{end}" for n in range(1, KEPT_BUILDS + 1) for end in ("", ".digest")}


def test_settings_in_the_directory_of_the_layers_are_not_deleted(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "settings", EPOCH)
    store.settings.mkdir()
    os.utime(store.settings, (EPOCH, EPOCH))
    store.prune([])
    assert store.settings.exists()
