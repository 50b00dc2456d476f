"""The schema for editors agrees with admission: it marks no random VM that lint accepts."""

import json

from jsonschema import Draft7Validator
from tests.conformance.cases import Cases

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.offline.jsonschema import build_schema, list_kinds
from virtshape.offline.lint import LintContext, Linter
from virtshape.offline.objects import Objects

SEEDS = range(200)
SCHEMA = Draft7Validator(build_schema(list_kinds(), others=True))


def list_marked(vm: JsonObject) -> list[str]:
    """Return the paths of the schema's errors, except for empty strings, which a server treats as unset."""
    return [error.json_path.removeprefix("$.") for error in SCHEMA.iter_errors(vm) if error.instance != ""]


def list_rejected(question: JsonObject) -> list[str]:
    """Return the paths of lint's errors."""
    objects = Objects(json.dumps(tree).encode() for tree in question["objects"])
    configuration = from_tree(question["configuration"], KubeVirtConfiguration)
    linter = Linter(LintContext(objects, catalog=False, configuration=configuration))
    findings = linter.check_text(json.dumps(question["vm"]).encode(), "vm.json")
    return [finding.field for finding in findings if finding.level == "error"]


def is_below(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def test_json_schema_rejects_only_fields_that_lint_rejects() -> None:
    marked = 0
    for seed in SEEDS:
        question = Cases(seed).draw("evaluateVM")
        paths = list_marked(question["vm"])
        rejected = list_rejected(question) if paths else []
        marked += bool(paths)
        agreed = [path for path in paths if any(is_below(path, each) or is_below(each, path) for each in rejected)]
        assert agreed == paths, f"seed {seed}: the schema marks {paths}, lint rejects {rejected}"
    assert marked > 30
