"""Render the Helm chart and the kustomize base with their tools."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.kubectl import CACHE, find_kubectls

from virtshape.api.model import JsonObject

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "virtshape"
BASE = ROOT / "deploy" / "kustomize" / "base"
KUBERNETES = "1.36.0"

Objects = dict[tuple[str, str, str], JsonObject]


def find_helm() -> Path:
    """Return Helm from PATH or from `tools/helm/build.sh`."""
    on_path = shutil.which("helm")
    found = [*sorted(CACHE.glob("helm-*")), *([Path(on_path)] if on_path else [])]
    return found[-1] if found else _miss("no helm: put it on PATH, or run tools/helm/build.sh, which builds it with Go")


def find_kubectl() -> Path:
    """Return a kubectl with built-in kustomize."""
    found = {version: path for version, path in find_kubectls().items() if version >= (1, 30)}
    return found[max(found)] if found else _miss("no current kubectl: tools/kubectl/build.sh makes one with Go")


def _miss(reason: str) -> Any:
    pytest.skip(reason)


def run(*arguments: str | Path) -> str:
    """Run a command and return its output."""
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def render_chart(*arguments: str, namespace: str = "virtshape-system") -> Objects:
    """Return the chart as Helm renders it."""
    place = ("--namespace", namespace, "--kube-version", KUBERNETES)
    return read_objects(run(find_helm(), "template", "virtshape", CHART, *place, *arguments))


def render_base() -> Objects:
    """Return the base as kustomize renders it."""
    return read_objects(run(find_kubectl(), "kustomize", BASE))


def read_objects(text: str) -> Objects:
    """Return all objects of a YAML text by kind, namespace and name."""
    return identify(tree for tree in yaml.load_all(text, yaml.CSafeLoader) if tree is not None)


def identify(trees: Any) -> Objects:
    """Return objects by kind, namespace and name; fail on duplicates."""
    objects: Objects = {}
    for tree in trees:
        metadata = tree["metadata"]
        key = tree["kind"], metadata.get("namespace", ""), metadata["name"]
        assert key not in objects, key
        objects[key] = tree
    return objects
