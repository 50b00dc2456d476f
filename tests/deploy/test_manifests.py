"""The kustomize base and the Helm chart match the output of `virtshape manifests` for all options."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.rendering import CHART, ROOT, Objects, find_helm, identify, render_base, render_chart, run

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
    "everything": EVERYTHING,
    "everything with guests": replace(EVERYTHING, runtime="pod", namespace="123"),
}


def list_values(options: Options) -> list[str]:
    texts = {"image": options.image, "launcherImage": options.guest_image, "webhookCert": options.webhook_cert}
    others = {"replicas": options.replicas, "catalog": options.catalog, "cdi": options.cdi}
    others |= {"serviceMonitor": options.service_monitor}
    arguments = [f"--set-string={name}={value}" for name, value in {**texts, "runtime": options.runtime}.items()]
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


def test_crds_and_namespace_are_kept_when_the_helm_release_is_removed() -> None:
    for (kind, _, name), tree in render_chart("--set=cdi=true").items():
        kept = tree["metadata"].get("annotations", {}).get(KEEP) == "keep"
        assert kept == (kind == "CustomResourceDefinition" or (kind, name) == ("Namespace", "kubevirt")), name


def test_helm_lint_finds_no_problems() -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in run(find_helm(), "lint", "--strict", CHART)


@pytest.mark.parametrize("word", ["runtime=vm", "replicas=0", "webhookCert=none", "imag=a"])
def test_invalid_helm_value_is_rejected(word: str) -> None:
    with pytest.raises(AssertionError, match=word.partition("=")[0]):
        render_chart(f"--set={word}")


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
