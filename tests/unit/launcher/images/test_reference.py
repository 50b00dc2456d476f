"""Parsing of container image references as in container tools."""

import pytest

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.reference import Reference, parse_reference

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fedora", Reference("docker.io", "library/fedora", "latest")),
        ("team/disk:1", Reference("docker.io", "team/disk", "1")),
        ("docker.io/disk", Reference("docker.io", "library/disk", "latest")),
        ("quay.io/a/b/c:v1.2_3-4", Reference("quay.io", "a/b/c", "v1.2_3-4")),
        ("docker://quay.io/a/b", Reference("quay.io", "a/b", "latest")),
        ("localhost/disk", Reference("localhost", "disk", "latest")),
        ("localhost:5000/disk:1", Reference("localhost:5000", "disk", "1")),
        ("127.0.0.1:5000/disk", Reference("127.0.0.1:5000", "disk", "latest")),
        ("[::1]:5000/disk", Reference("[::1]:5000", "disk", "latest")),
        (f"quay.io/a@{DIGEST}", Reference("quay.io", "a", "", DIGEST)),
        (f"quay.io/a:1@{DIGEST}", Reference("quay.io", "a", "1", DIGEST)),
    ],
)
def test_image_reference_is_parsed_and_formatted(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected
    assert parse_reference(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "a:",
        "a@",
        "A",
        "a b",
        "../a",
        "a/../b",
        "quay.io/",
        "quay.io//a",
        "a:b:c",
        "a@sha256:1",
        "a?b",
        "a#b",
        "/a",
    ],
)
def test_invalid_image_reference_is_refused(text: str) -> None:
    with pytest.raises(RefusedImageError, match="is not the name of a container image"):
        parse_reference(text)


def test_reference_without_a_host_uses_the_registry_of_docker_hub() -> None:
    assert parse_reference("fedora").server == "registry-1.docker.io"


def test_image_reference_with_a_digest_is_not_latest() -> None:
    assert parse_reference("a").is_latest
    assert not parse_reference("a:1").is_latest
    assert not parse_reference(f"a:latest@{DIGEST}").is_latest
