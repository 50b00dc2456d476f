"""The kustomize base and the Helm chart match the output of `virtshape manifests` for all options."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.support.rendering import CHART, ROOT, Objects, find_helm, identify, render_base, render_chart, run

from virtshape.api.launcherpod import DEMO_DISK
from virtshape.cluster.manifests.build import build_manifests
from virtshape.cluster.manifests.deployments import USER_ID
from virtshape.cluster.manifests.options import Options, name_launcher_image
from virtshape.controllers.pods.build import GUEST_USER

KEEP = "helm.sh/resource-policy"
EVERYTHING = Options(
    namespace="vms",
    image="example.com:5000/virtshape:2",
    launcher_image="example.com:5000/guest@sha256:00",
    replicas=5,
    catalog=True,
    cdi=True,
    webhook_cert="cert-manager",
    runtime="none",
    service_monitor=True,
    console_host="vms.example.com",
)
CHOICES = {
    "nothing": Options(),
    "replicas": Options(replicas=3),
    "image": Options(image="example.com/a:1", launcher_image="example.com/b:1"),
    "catalog": Options(catalog=True),
    "CDI kinds": Options(cdi=True),
    "cert-manager": Options(webhook_cert="cert-manager"),
    "no runtime": Options(runtime="none"),
    "monitoring": Options(service_monitor=True),
    "no console": Options(console=False),
    "no console, with cert-manager": Options(console=False, webhook_cert="cert-manager"),
    "host of the console": Options(console_host="true"),
    "everything": EVERYTHING,
    "everything with guests": replace(EVERYTHING, runtime="pod", namespace="123"),
}


def list_values(options: Options) -> list[str]:
    texts = {"image": options.image, "launcherImage": options.guest_image, "webhookCert": options.webhook_cert}
    texts |= {"runtime": options.runtime, "console.host": options.console_host}
    others = {"replicas": options.replicas, "catalog": options.catalog, "cdi": options.cdi}
    others |= {"serviceMonitor": options.service_monitor, "console.enabled": options.console}
    arguments = [f"--set-string={name}={value}" for name, value in texts.items()]
    return arguments + [f"--set={name}={str(value).lower()}" for name, value in others.items()]


def drop_resource_policy(objects: Objects) -> Objects:
    """Return the objects without Helm's resource policy annotations."""
    for tree in objects.values():
        metadata = tree["metadata"]
        annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != KEEP}
        tree["metadata"] = {key: value for key, value in metadata.items() if key != "annotations"}
        if annotations:
            tree["metadata"]["annotations"] = annotations
    return objects


def test_generated_manifests_are_up_to_date() -> None:
    assert run(sys.executable, ROOT / "deploy" / "generate.py", "--check") == ""


def test_kustomize_base_matches_the_command_output() -> None:
    assert render_base() == identify(build_manifests(Options()))


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES.keys())
def test_helm_chart_matches_the_command_output(options: Options) -> None:
    rendered = drop_resource_policy(render_chart(*list_values(options), namespace=options.namespace))
    wanted = identify(build_manifests(options))
    del wanted["Namespace", "", options.namespace]  # Helm creates the namespace
    assert rendered.keys() == wanted.keys()
    assert rendered == wanted


def test_helm_chart_creates_an_ingress_for_the_console_if_requested() -> None:
    annotation = r"ingress.annotations.nginx\.ingress\.kubernetes\.io/backend-protocol=HTTPS"
    values = ("host=vms.example.com", "ingress.className=nginx", "ingress.tlsSecret=vms-tls", annotation)
    texts = [f"--set-string=console.{value}" for value in values]
    rendered = render_chart("--set=console.ingress.enabled=true", *texts)
    ingress = rendered["Ingress", "virtshape-system", "virtshape-console"]
    assert ingress["metadata"]["annotations"] == {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
    backend = {"service": {"name": "virtshape-console", "port": {"name": "https"}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    assert ingress["spec"] == {
        "ingressClassName": "nginx",
        "tls": [{"hosts": ["vms.example.com"], "secretName": "vms-tls"}],
        "rules": [{"host": "vms.example.com", "http": {"paths": paths}}],
    }
    assert not any(kind == "Ingress" for kind, _, _ in render_chart())


def test_only_crds_and_the_kubevirt_namespace_have_the_helm_policy_keep() -> None:
    for (kind, _, name), tree in render_chart("--set=cdi=true").items():
        kept = tree["metadata"].get("annotations", {}).get(KEEP) == "keep"
        assert kept == (kind == "CustomResourceDefinition" or (kind, name) == ("Namespace", "kubevirt")), name


def test_helm_lint_finds_no_problems() -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in run(find_helm(), "lint", "--strict", CHART)


@pytest.mark.parametrize("word", ["runtime=vm", "replicas=0", "webhookCert=none", "imag=a", "console.hosts=a"])
def test_invalid_helm_value_is_rejected(word: str) -> None:
    with pytest.raises(AssertionError, match=word.partition("=")[0].rpartition(".")[2]):
        render_chart(f"--set={word}")


def list_values_of(tree: dict[str, Any], schema: dict[str, Any], above: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the path, the default as JSON and the description of each value."""
    for name, value in tree.items():
        described = schema["properties"][name]
        if "properties" in described:
            yield from list_values_of(value, described, f"{above}{name}.")
        else:
            yield f"{above}{name}", json.dumps(value), described["description"]


def test_chart_readme_lists_all_values_with_defaults_and_descriptions() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]*)` \| (.+) \|$", (CHART / "README.md").read_text(), re.MULTILINE)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema["properties"].keys() - {"global"} == values.keys()
    assert rows == [*list_values_of(values, schema)]


DOCKERFILES = {path.name: path for path in sorted((ROOT / "deploy").glob("*.Dockerfile"))}


@pytest.mark.parametrize("path", DOCKERFILES.values(), ids=DOCKERFILES.keys())
def test_image_runs_as_a_numeric_non_root_user_and_copies_existing_files(path: Path) -> None:
    lines = path.read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert len(users) == 1
    assert all(number.isdigit() and number != "0" for number in users[0].split(":"))
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert copied
    assert [word for word in copied if not (ROOT / word).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert [word for word in copied if f"!{word}" not in ignored] == []


def test_dockerfiles_set_the_user_ids_of_the_pods() -> None:
    assert f"USER {USER_ID}:{USER_ID}" in DOCKERFILES["control.Dockerfile"].read_text()
    assert f"USER {GUEST_USER}:{GUEST_USER}" in DOCKERFILES["launcher.Dockerfile"].read_text()


def test_launcher_image_contains_the_demo_guest() -> None:
    line = f"RUN /opt/virtshape/bin/python -m virtshape.launcher.images.demo {DEMO_DISK}"
    assert line in DOCKERFILES["launcher.Dockerfile"].read_text().splitlines()


NOT_IN_PODS = ["kubernetes-client", "curl", "jq", "openssh-client", "zstd", "passt", "iproute2"]


def test_launcher_image_has_the_required_packages() -> None:
    lines = [line for line in (ROOT / "packages.txt").read_text().splitlines() if line and not line.startswith("#")]
    installed = DOCKERFILES["launcher.Dockerfile"].read_text().split()
    assert [name for name in lines if name not in installed] == NOT_IN_PODS


@pytest.mark.parametrize(
    ("image", "launcher"),
    [
        ("virtshape:1", "virtshape-launcher:1"),
        ("example.com/a/virtshape:1", "example.com/a/virtshape-launcher:1"),
        ("example.com:5000/virtshape", "example.com:5000/virtshape-launcher"),
    ],
)
def test_launcher_image_name_is_derived_from_the_component_image(image: str, launcher: str) -> None:
    assert name_launcher_image(image) == launcher
