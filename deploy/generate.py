"""
Generate a kustomize base and a Helm chart from the output of `virtshape manifests`.

    python deploy/generate.py           writes the files
    python deploy/generate.py --check   prints the files that are out of date; the exit status is 1 if there are any

The chart's conditions are derived from the differences between the outputs with and without each option.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from virtshape.api.yaml import write_yaml
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.naming import RELEASE
from virtshape.cluster.manifests.options import Options

Tree = dict[str, Any]

FOLDER = Path(__file__).parent
BASE = "kustomize/base"
CHART = "helm/virtshape"
NOTE = "# Written by deploy/generate.py.\n"
OLDEST_KUBERNETES = "1.32.0-0"
KEPT = {"helm.sh/resource-policy": "keep"}
"""Annotation of objects that an uninstall must not delete: CRDs, because VMs would be lost, and namespaces."""

DEFAULTS = Options()
SENTINELS = Options(
    namespace="sentinel-namespace",
    image="sentinel-image",
    launcher_image="sentinel-launcher",
    replicas=97531,
    console_host="sentinel-console",
    apiserver_port=64200,
)
EXPRESSIONS = {
    SENTINELS.namespace: ".Release.Namespace",
    SENTINELS.image: ".Values.image",
    SENTINELS.launcher_image: ".Values.launcherImage",
    str(SENTINELS.replicas): ".Values.replicas",
    SENTINELS.console_host: ".Values.console.host",
    str(SENTINELS.apiserver_port): ".Values.apiserverPort",
}
QUOTED = (SENTINELS.namespace, SENTINELS.image, SENTINELS.console_host)
"""Sentinels that are the complete value of some fields, where Helm must quote them."""
PART_CONDITIONS = {"console": ".Values.console.enabled"}
"""The condition of each part whose objects all depend on the same condition."""
CHOICES: dict[str, Options] = {
    ".Values.catalog": replace(SENTINELS, catalog=True),
    ".Values.cdi": replace(SENTINELS, cdi=True),
    'eq .Values.webhookCert "cert-manager"': replace(SENTINELS, webhook_cert="cert-manager"),
    'eq .Values.runtime "none"': replace(SENTINELS, runtime="none"),
    ".Values.serviceMonitor": replace(SENTINELS, service_monitor=True),
}
VALUES: dict[str, tuple[Any, str]] = {
    "image": (DEFAULTS.image, "Image of the components."),
    "launcherImage": (DEFAULTS.guest_image, "Image that guests run in."),
    "replicas": (DEFAULTS.replicas, "Pods of each component."),
    "catalog": (DEFAULTS.catalog, "Create missing instance types and preferences of the built-in catalog."),
    "cdi": (DEFAULTS.cdi, "Include the CDI kinds, for a cluster without CDI."),
    "webhookCert": (DEFAULTS.webhook_cert, "How certificates are issued and renewed: self-signed or cert-manager."),
    "runtime": (DEFAULTS.runtime, "How guests run: pod (each in a pod) or none."),
    "apiserverPort": (
        DEFAULTS.apiserver_port,
        "Port of the API server's endpoints, which network policies allow in addition to 443.",
    ),
    "serviceMonitor": (DEFAULTS.service_monitor, "Include a ServiceMonitor. Requires the Prometheus operator."),
    "console.enabled": (DEFAULTS.console, "Include the web console."),
    "console.host": (
        DEFAULTS.console_host,
        "Host name that browsers use for the web console; it is in the certificate.",
    ),
    "console.ingress.enabled": (False, "Create an Ingress for console.host."),
    "console.ingress.className": ("", "Class of the Ingress; empty for the cluster's default."),
    "console.ingress.annotations": (
        {},
        "Annotations of the Ingress; the ingress controller must connect to the console with HTTPS.",
    ),
    "console.ingress.tlsSecret": (
        "",
        "Secret with the certificate of the Ingress; empty for the ingress controller's default.",
    ),
}
ENUMS = {"webhookCert": ["self-signed", "cert-manager"], "runtime": ["pod", "none"]}
TYPES = {bool: "boolean", int: "integer", str: "string", dict: "object"}


def main() -> int:
    """Write or check all files; return the exit status."""
    files = dict([*write_base(), *write_chart()])
    stale = [name for name, text in files.items() if _read(FOLDER / name) != text]
    stale += [name for name in list_written() if name not in files]
    if "--check" in sys.argv:
        sys.stdout.writelines(f"deploy/{name} is out of date: run python deploy/generate.py\n" for name in stale)
        return 1 if stale else 0
    for name in stale:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in files:
            path.write_text(files[name])
        else:
            path.unlink()
    return 0


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def list_written() -> Iterator[str]:
    """Yield the names of files that an earlier run wrote."""
    for folder in (BASE, CHART):
        for path in sorted((FOLDER / folder).rglob("*.yaml")):
            if path.read_text().startswith(NOTE):
                yield str(path.relative_to(FOLDER))


def write_base() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file of the kustomize base: one per part, and kustomization.yaml."""
    parts = {name: trees for name, trees in build_parts(DEFAULTS).items() if trees}
    for name, trees in parts.items():
        yield f"{BASE}/{name}.yaml", NOTE + "---\n".join(map(write_yaml, trees))
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{name}.yaml" for name in parts],
    }
    yield f"{BASE}/kustomization.yaml", NOTE + write_yaml(listed)


def write_chart() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file of the Helm chart."""
    yield f"{CHART}/Chart.yaml", NOTE + write_yaml(_describe_chart())
    yield f"{CHART}/values.yaml", NOTE + "".join(_write_values())
    yield f"{CHART}/values.schema.json", json.dumps(_describe_values(), indent=2) + "\n"
    yield f"{CHART}/README.md", "".join(_write_readme())
    base = _build_for_chart(SENTINELS)
    variants = {condition: _build_for_chart(options) for condition, options in CHOICES.items()}
    for name, trees in base.items():
        text = "".join(_list_documents(trees, {condition: parts[name] for condition, parts in variants.items()}))
        if name in PART_CONDITIONS:
            text = f"{{{{- if {PART_CONDITIONS[name]} }}}}\n{text}{{{{- end }}}}\n"
        yield f"{CHART}/templates/{name}.yaml", NOTE + _fill_in(text)


def _describe_chart() -> Tree:
    return {
        "apiVersion": "v2",
        "name": "virtshape",
        "description": "Virtual machines with instance types and preferences.",
        "type": "application",
        "version": RELEASE,
        "appVersion": RELEASE,
        "kubeVersion": f">={OLDEST_KUBERNETES}",
    }


def _write_values() -> Iterator[str]:
    above: list[str] = []
    for path, (value, purpose) in VALUES.items():
        *parents, name = path.split(".")
        for depth, parent in enumerate(parents):
            if above[: depth + 1] != parents[: depth + 1]:
                yield f"\n{'  ' * depth}{parent}:"
                above = parents[: depth + 1]
        indent = "  " * len(parents)
        yield f"\n{indent}# {purpose}\n{indent}{write_yaml({name: value})}"


def _write_readme() -> Iterator[str]:
    yield f"""\
# virtshape

This chart installs virtshape, which runs virtual machines with instance types and preferences, on a cluster with
Kubernetes {OLDEST_KUBERNETES.removesuffix(".0-0")} or newer. It is written by `deploy/generate.py`.

```sh
helm install virtshape virtshape-{RELEASE}.tgz --namespace virtshape-system --create-namespace
```

The nodes must be able to pull both images, and no public registry has them yet: build them, push them to a registry,
and set `image` and `launcherImage`. `docs/cluster.md` in the repository describes this, and all other requirements of
the cluster.

## Values

| value | default | |
| --- | --- | --- |
"""
    for path, (value, purpose) in VALUES.items():
        yield f"| `{path}` | `{json.dumps(value)}` | {purpose} |\n"
    yield """
Helm rejects unknown values and values of a wrong type.

## Upgrade and removal

`helm upgrade` replaces the components and updates the CRDs. VMs, running guests, certificates and the configuration are
kept, and `helm rollback` returns to the previous release without deleting any of them. `helm uninstall` keeps the CRDs
with all VMs, and leaves running guests: run `virtshape uninstall` first.
"""


def _describe_values() -> Tree:
    properties: Tree = {
        "global": {"description": "Global values, which Helm passes to charts.", "type": "object"},
    }
    for path, (value, purpose) in VALUES.items():
        *parents, name = path.split(".")
        within = properties
        for parent in parents:
            within = within.setdefault(parent, _describe_object({}))["properties"]
        within[name] = {"description": purpose, "type": TYPES[type(value)]}
        if name in ENUMS:
            within[name]["enum"] = ENUMS[name]
    properties["replicas"]["minimum"] = 1
    return {"$schema": "https://json-schema.org/draft-07/schema#", **_describe_object(properties)}


def _describe_object(properties: Tree) -> Tree:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _build_for_chart(options: Options) -> dict[str, list[Tree]]:
    """Return all parts without the release's namespace, which Helm creates; annotate what uninstall must not delete."""
    parts = build_parts(options)
    parts["namespaces"] = [tree for tree in parts["namespaces"] if tree["metadata"]["name"] != options.namespace]
    for tree in (*parts["namespaces"], *parts["crds"]):
        tree["metadata"] = {**tree["metadata"], "annotations": {**tree["metadata"].get("annotations", {}), **KEPT}}
    return parts


class _Identity(NamedTuple):
    kind: str
    namespace: str
    name: str


Objects = dict[_Identity, list[str]]


def _identify(trees: Iterable[Tree]) -> Objects:
    """Return the YAML lines of each object, by its identity."""
    heads = ((tree, tree["kind"], tree["metadata"]) for tree in trees)
    return {
        _Identity(kind, head.get("namespace", ""), head["name"]): write_yaml(tree).splitlines()
        for tree, kind, head in heads
    }


def _list_documents(trees: Sequence[Tree], variants: Mapping[str, Sequence[Tree]]) -> Iterator[str]:
    """Yield the text of all objects; adjacent objects with the same conditions share one block."""
    base = _identify(trees)
    others = {condition: _identify(variant) for condition, variant in variants.items()}
    order = _order(base, others.values())
    for conditions, group in groupby(order, key=lambda identity: _list_conditions(identity, base, others)):
        lines = [line for identity in group for line in ("---", *_merge_object(identity, base, others))]
        for condition in conditions:
            lines = _wrap(condition, lines)
        yield "".join(f"{line}\n" for line in lines)


def _list_conditions(identity: _Identity, base: Objects, others: Mapping[str, Objects]) -> list[str]:
    if identity in base:
        return [f"not ({condition})" for condition, other in others.items() if identity not in other]
    return [condition for condition, other in others.items() if identity in other]


def _merge_object(identity: _Identity, base: Objects, others: Mapping[str, Objects]) -> list[str]:
    variants = {condition: other[identity] for condition, other in others.items() if identity in other}
    return _merge(base[identity], variants) if identity in base else next(iter(variants.values()))


def _order(base: Iterable[_Identity], others: Iterable[Iterable[_Identity]]) -> list[_Identity]:
    """Return the identities of all objects; one that an option adds follows its predecessor in the option's output."""
    order = list(base)
    for other in others:
        place = 0
        for identity in other:
            if identity in order:
                place = order.index(identity) + 1
            else:
                order.insert(place, identity)
                place += 1
    return order


def _merge(base: list[str], variants: Mapping[str, list[str]]) -> list[str]:
    """Return the lines of an object, with conditions around lines that depend on an option."""
    edits = sorted(
        (start, end, condition, lines[low:high])
        for condition, lines in variants.items()
        if lines != base
        for tag, start, end, low, high in SequenceMatcher(None, base, lines, autojunk=False).get_opcodes()
        if tag != "equal"
    )
    merged: list[str] = []
    done = 0
    for start, end, condition, lines in edits:
        if start < done:
            raise ValueError(f"two options change the same lines: {base[start:end]}")
        merged += [*base[done:start], *_wrap(condition, lines, base[start:end])]
        done = end
    return [*merged, *base[done:]]


def _wrap(condition: str, lines: Sequence[str], otherwise: Sequence[str] = ()) -> list[str]:
    if not lines:
        return [f"{{{{- if not ({condition}) }}}}", *otherwise, "{{- end }}"]
    middle = ["{{- else }}", *otherwise] if otherwise else []
    return [f"{{{{- if {condition} }}}}", *lines, *middle, "{{- end }}"]


def _fill_in(text: str) -> str:
    """Replace the sentinels with Helm expressions; a complete value is quoted, so that it is not parsed as a number."""
    for sentinel, expression in EXPRESSIONS.items():
        if sentinel in QUOTED:
            for before in (": ", "- "):
                text = text.replace(f"{before}{sentinel}\n", f"{before}{{{{ {expression} | quote }}}}\n")
        text = text.replace(sentinel, f"{{{{ {expression} }}}}")
    return text


if __name__ == "__main__":
    sys.exit(main())
