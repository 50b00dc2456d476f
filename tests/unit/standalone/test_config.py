"""The configuration file in the data directory."""

from pathlib import Path

import pytest

from virtshape.api.quantity import Quantity
from virtshape.standalone.config import (
    ConfigurationError,
    HostConfiguration,
    HostDisks,
    Imports,
    Registries,
    StorageLimits,
    read_configuration,
)


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "{}"], ids=["no file", "empty", "comment", "no settings"])
def test_configuration_file_is_optional(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    assert read_configuration(tmp_path) in (HostConfiguration(), HostConfiguration(images={}))


def test_all_configuration_sections_are_read(tmp_path: Path) -> None:
    text = """
images:
  quay.io/a/b:1: /images/b.qcow2
  demo: demo.img
registries: {enabled: false, plain: ["registry.lan:5000"]}
hostDisks: {roots: [/srv/disks, disks]}
imports: {allowedNetworks: [127.0.0.0/8, "fd00::/8", 10.1.2.3]}
storage: {reserve: 2Gi, maxImageSize: 10Gi, imageCacheSize: 5Gi}
networks: {pod: br0}
"""
    (tmp_path / "config.yaml").write_text(text)
    assert read_configuration(tmp_path) == HostConfiguration(
        images={"quay.io/a/b:1": "/images/b.qcow2", "demo": str(tmp_path / "demo.img")},
        registries=Registries(enabled=False, plain=["registry.lan:5000"]),
        host_disks=HostDisks(roots=["/srv/disks", str(tmp_path / "disks")]),
        imports=Imports(allowed_networks=["127.0.0.0/8", "fd00::/8", "10.1.2.3"]),
        storage=StorageLimits(
            reserve=Quantity("2Gi"), max_image_size=Quantity("10Gi"), image_cache_size=Quantity("5Gi")
        ),
        networks={"pod": "br0"},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("images: [", "reading .* failed"),
        ("imags: {}", "imags"),
        ("images: 1", "images"),
        ("imports: {allowedNetworks: [127.0.0.1/8]}", r"imports.allowedNetworks\[0\]: 127.0.0.1/8 has host bits set"),
        ("imports: {allowedNetworks: [localhost]}", "expected a network such as 10.1.0.0/16"),
        ("storage: {reserve: much}", "reserve"),
        ("a: 1\n---\nb: 2", "2 YAML documents"),
    ],
)
def test_invalid_configuration_file_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        read_configuration(tmp_path)
