"""Alert rules and the Grafana dashboard: promtool accepts them, and all their metrics exist in a scrape."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.promtool import call_promtool, require_promtool
from tests.support.scrapes import list_cluster_metrics, parse_metrics, scrape_busy_server
from tests.support.standaloneserver import serving

MONITORING = Path(__file__).parents[2] / "deploy/monitoring"
KUBEVIRTS_NAMES = ("kubevirt_vmi_phase_count",)
"""KubeVirt's metric names that promtool's linter reports as problems."""
_IGNORED = re.compile(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right) *\([^)]*\)')
_NAME = re.compile(r"\b[a-z]\w*_\w+\b(?! *\()|\bup\b")
_SUFFIX = re.compile(r"_(bucket|sum|count)$")
_KEYWORDS = {"group_left", "group_right"}


def read_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def read_panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return panels


def list_expressions() -> list[str]:
    queries = [target["expr"] for panel in read_panels() for target in panel.get("targets", ())]
    return [*queries, *(rule["expr"] for rule in read_rules())]


def list_names(expression: str) -> set[str]:
    """Return the names of the metrics in a PromQL expression."""
    return set(_NAME.findall(_IGNORED.sub(" ", expression))) - _KEYWORDS


def test_names_of_metrics_are_found_in_expressions() -> None:
    expression = 'sum by (job, a_b) (rate(x_total{job=~"y_z"}[5m])) / on (a_b) group_left up == 0'
    assert list_names(expression) == {"x_total", "up"}


def test_promtool_accepts_the_alert_rules() -> None:
    call_promtool("check", "rules", str(MONITORING / "rules.yaml"))


def test_alert_rules_pass_their_promtool_tests() -> None:
    call_promtool("test", "rules", str(MONITORING / "rules_test.yaml"))


def test_every_alert_has_a_test() -> None:
    tests = yaml.safe_load((MONITORING / "rules_test.yaml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in read_rules()}


async def test_scrape_is_valid_and_has_all_metrics_of_the_dashboard_and_the_rules(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as server:
        text = await scrape_busy_server(server) + list_cluster_metrics(server)
    known = parse_metrics(text)
    used = {name for expression in list_expressions() for name in list_names(expression)} - {"up"}
    assert len(used) > 20
    assert {name for name in used if name not in known and _SUFFIX.sub("", name) not in known} == set()
    checked = "".join(line for line in text.splitlines(keepends=True) if not any(n in line for n in KUBEVIRTS_NAMES))
    call_promtool("check", "metrics", stdin=checked)


@pytest.mark.parametrize("metric", KUBEVIRTS_NAMES)
def test_promtool_reports_a_problem_with_each_excluded_kubevirt_name(metric: str) -> None:
    line = [str(require_promtool()), "check", "metrics"]
    sample = f"# HELP {metric} Text.\n# TYPE {metric} gauge\n{metric} 1\n"
    called = subprocess.run(line, input=sample, capture_output=True, text=True, timeout=240, check=False)
    assert called.returncode != 0
