"""Check docs/observability.md: its tables of metrics, alerts and log fields match the code."""

import json
import logging
import re
from pathlib import Path

import yaml
from tests.support.scrapes import list_cluster_metrics, parse_metrics, scrape_busy_server
from tests.support.standaloneserver import serving

from virtshape.apiserver.message import CURRENT_REQUEST, Request
from virtshape.client.cache import ObjectKey
from virtshape.controllers.runtime.loop import CURRENT_RECONCILE, Reconciled
from virtshape.daemon.logs import JsonFormatter

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/observability.md").read_text()
OF_PROCESSES = ("process_", "python_")
_METRIC = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.*?) ?\| [\w, ]+ \|$", re.MULTILINE)
_ALERT = re.compile(r"^\| `(Virtshape\w+)` \| (warning|critical) \|", re.MULTILINE)


def read_metrics() -> dict[str, tuple[str, frozenset[str]]]:
    """Return type and labels of each metric in the table."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for name, type_, labels in _METRIC.findall(PAGE):
        own = frozenset(re.findall(r"`(\w+)`", labels))
        if labels.startswith("as "):
            own = found["kubevirt_vmi_info"][1] - {"namespace", "name"}
        found[name] = type_, own
    return found


async def test_table_lists_all_metrics_with_their_labels(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as server:
        families = parse_metrics(await scrape_busy_server(server) + list_cluster_metrics(server))
    served = {
        name: (family.type, frozenset(label for sample in family.samples for label in sample.labels) - {"le"})
        for name, family in families.items()
        if not name.startswith(OF_PROCESSES)
    }
    assert read_metrics() == served
    assert all(f"`{name}`" in PAGE for name in families if name.startswith(OF_PROCESSES))


def test_table_lists_all_alerts_with_their_severity() -> None:
    groups = yaml.safe_load((ROOT / "deploy/monitoring/rules.yaml").read_text())["groups"]
    rules = {rule["alert"]: rule["labels"]["severity"] for group in groups for rule in group["rules"]}
    assert dict(_ALERT.findall(PAGE)) == rules


def test_table_lists_all_fields_of_log_lines() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "failed: %s", (ValueError("no"),), None)
    record.exc_info = (ValueError, ValueError("no"), None)
    entered = CURRENT_REQUEST.set(Request("GET", "/", {})), CURRENT_RECONCILE.set(Reconciled("vm", ObjectKey("a", "b")))
    try:
        fields = set(json.loads(JsonFormatter("controller").format(record)))
    finally:
        CURRENT_REQUEST.reset(entered[0])
        CURRENT_RECONCILE.reset(entered[1])
    table = PAGE.partition("## Logs")[2]
    listed = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(listed[:-1]))) == fields
