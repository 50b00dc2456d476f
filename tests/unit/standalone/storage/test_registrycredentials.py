"""Registry credentials from pull secrets."""

import json
from base64 import b64encode

import pytest

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.web import Access
from virtshape.standalone.storage.registrycredentials import get_registry_credentials

LOGINS = json.dumps(
    {
        "auths": {
            "quay.io": {"auth": b64encode(b"me:pass:word").decode()},
            "https://index.docker.io/v1/": {"username": "hub", "password": "secret"},
            "registry.example:5000/team": {"username": "team", "password": "x"},
        }
    }
)


@pytest.mark.parametrize(
    ("image", "user", "password"),
    [
        ("quay.io/a/b", "me", "pass:word"),
        ("docker://quay.io/a/b:1", "me", "pass:word"),
        ("fedora", "hub", "secret"),
        ("registry.example:5000/team/disk", "team", "x"),
        ("other.example/a", "", ""),
    ],
)
def test_pull_secret_credentials_are_found_by_registry(image: str, user: str, password: str) -> None:
    assert get_registry_credentials(LOGINS, image) == Access(user=user, password=password)


def test_no_registry_credentials_are_found_without_a_pull_secret() -> None:
    assert get_registry_credentials("", "quay.io/a") == Access()


@pytest.mark.parametrize("logins", ["{", '{"auths": 1}', '{"auths": {"quay.io": {"auth": "*"}}}'])
def test_invalid_pull_secret_is_refused(logins: str) -> None:
    with pytest.raises(RefusedImageError, match="pull secret"):
        get_registry_credentials(logins, "quay.io/a")
