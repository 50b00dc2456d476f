"""The `virtshape manifests` command."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from virtshape.cli.manifests import command
from virtshape.cluster.manifests.build import build_manifests
from virtshape.cluster.manifests.options import DEFAULT_IMAGE, Options


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def _print(*arguments: str) -> list[dict[str, Any]]:
    result = _run(*arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    items: list[dict[str, Any]] = json.loads(result.stdout)["items"]
    return items


CHOICES: dict[str, tuple[tuple[str, ...], Options]] = {
    "nothing": ((), Options()),
    "namespace": (("--namespace", "vms"), Options(namespace="vms")),
    "image": (("--image", "a:1"), Options(image="a:1", launcher_image="a-launcher:1")),
    "two images": (
        ("--image", "a@sha256:1", "--launcher-image", "b@sha256:2"),
        Options(image="a@sha256:1", launcher_image="b@sha256:2"),
    ),
    "replicas": (("--replicas", "3"), Options(replicas=3)),
    "catalog": (("--catalog",), Options(catalog=True)),
    "CDI kinds": (("--cdi",), Options(cdi=True)),
    "cert-manager": (("--webhook-cert", "cert-manager"), Options(webhook_cert="cert-manager")),
    "no runtime": (("--runtime", "none"), Options(runtime="none")),
    "monitoring": (("--service-monitor",), Options(service_monitor=True)),
    "no console": (("--console=false",), Options(console=False)),
    "host of the console": (("--console-host", "vms.example.com"), Options(console_host="vms.example.com")),
    "port of the API server": (("--apiserver-port", "16443"), Options(apiserver_port=16443)),
    "with KubeVirt": (("--with-kubevirt",), Options(with_kubevirt=True)),
}


@pytest.mark.parametrize(("arguments", "options"), CHOICES.values(), ids=CHOICES.keys())
def test_manifests_flags_are_converted_to_options(arguments: tuple[str, ...], options: Options) -> None:
    assert _print(*arguments) == build_manifests(options)


def test_default_image_in_the_manifests_is_the_image_of_this_release() -> None:
    images = {
        tree["spec"]["template"]["spec"]["containers"][0]["image"] for tree in _print() if tree["kind"] == "Deployment"
    }
    assert images == {DEFAULT_IMAGE}


MISTAKES = {
    "invalid namespace": (("--namespace", "My_VMs"), '"My_VMs"'),
    "invalid host": (("--console-host", "https://vms.example.com"), 'invalid host name "https://vms.example.com"'),
    "only a digest": (("--image", "a@sha256:1"), "requires --launcher-image"),
    "no replicas": (("--replicas", "0"), "0 is not in the range"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_invalid_manifests_flags_cause_an_error_and_no_output(arguments: tuple[str, ...], message: str) -> None:
    result = _run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_network_policies_allow_the_port_of_the_api_server() -> None:
    policies = [tree for tree in _print("--apiserver-port", "16443") if tree["kind"] == "NetworkPolicy"]
    assert policies
    for policy in policies:
        assert [one["port"] for rule in policy["spec"]["egress"] for one in rule["ports"]] == [443, 16443, 53, 53]
