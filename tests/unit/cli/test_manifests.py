"""The `virtshape manifests` command."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from virtshape.cli.manifests import command
from virtshape.cluster.manifests.build import build_manifests
from virtshape.cluster.manifests.options import DEFAULT_IMAGE, Options


def _run(*words: str) -> Result:
    return CliRunner().invoke(command, words)


def _print(*words: str) -> list[dict[str, Any]]:
    result = _run(*words, "-o", "json")
    assert result.exit_code == 0, result.output
    items: list[dict[str, Any]] = json.loads(result.stdout)["items"]
    return items


CHOICES: dict[str, tuple[tuple[str, ...], Options]] = {
    "nothing": ((), Options()),
    "a namespace": (("--namespace", "vms"), Options(namespace="vms")),
    "an image": (("--image", "a:1"), Options(image="a:1", launcher_image="a-launcher:1")),
    "two images": (
        ("--image", "a@sha256:1", "--launcher-image", "b@sha256:2"),
        Options(image="a@sha256:1", launcher_image="b@sha256:2"),
    ),
    "replicas": (("--replicas", "3"), Options(replicas=3)),
    "the catalog": (("--catalog",), Options(catalog=True)),
    "the kinds of CDI": (("--cdi",), Options(cdi=True)),
    "cert-manager": (("--webhook-cert", "cert-manager"), Options(webhook_cert="cert-manager")),
    "no runtime": (("--runtime", "none"), Options(runtime="none")),
    "a monitor": (("--service-monitor",), Options(service_monitor=True)),
    "beside KubeVirt": (("--with-kubevirt",), Options(with_kubevirt=True)),
}


@pytest.mark.parametrize(("words", "options"), CHOICES.values(), ids=CHOICES.keys())
def test_flags_become_options_of_the_manifests(words: tuple[str, ...], options: Options) -> None:
    assert _print(*words) == build_manifests(options)


def test_default_image_is_of_this_release() -> None:
    images = {
        tree["spec"]["template"]["spec"]["containers"][0]["image"] for tree in _print() if tree["kind"] == "Deployment"
    }
    assert images == {DEFAULT_IMAGE}


MISTAKES = {
    "no name of a namespace": (("--namespace", "My_VMs"), '"My_VMs"'),
    "a digest alone": (("--image", "a@sha256:1"), "requires --launcher-image"),
    "nobody": (("--replicas", "0"), "0 is not in the range"),
}


@pytest.mark.parametrize(("words", "told"), MISTAKES.values(), ids=MISTAKES.keys())
def test_invalid_flags_are_reported_and_nothing_is_printed(words: tuple[str, ...], told: str) -> None:
    result = _run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
