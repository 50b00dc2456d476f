"""
The Grafana dashboard: each field is one of Grafana's JSON model, and each query is valid and has data.

The structs have only the fields and values of the model that the dashboard uses, so a misspelled one is an error.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
import yaml
from msgspec import Meta, Struct
from tests.support.promtool import call_promtool
from tests.support.scrapes import list_cluster_metrics, parse_metrics, scrape_busy_server
from tests.support.standaloneserver import serving

DASHBOARD = Path(__file__).parents[2] / "deploy/monitoring/dashboard.json"
COLUMNS = 24
SAMPLE_VALUES = {"$job": "virtshape", "$__rate_interval": "5m"}
TARGET_LABELS = {"job", "instance", "pod"}
"""Labels that Prometheus adds to every series of a target; `pod` only on a cluster."""
_SELECTOR = re.compile(r"([a-z]\w*)(\{[^}]*\})")
_MATCHED = re.compile(r'(\w+)(?:=~|!~|!=|=)"')
_GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")
_VARIABLE = re.compile(r"\$\{?(\w+)")

Share = Annotated[int, Meta(ge=0, le=100)]


class Model(Struct, forbid_unknown_fields=True, rename="camel"):
    """Base class of the parts of the JSON model; unknown fields are errors."""


class DataSource(Model):
    type: Literal["prometheus"]
    uid: Literal["${datasource}"]


class GridPosition(Model):
    x: Annotated[int, Meta(ge=0, lt=COLUMNS)]
    y: Annotated[int, Meta(ge=0)]
    w: Annotated[int, Meta(ge=1, le=COLUMNS)]
    h: Annotated[int, Meta(ge=1)]


class Target(Model):
    ref_id: Annotated[str, Meta(pattern="^[A-Z]$")]
    expr: str
    legend_format: str
    datasource: DataSource
    instant: bool = False
    format: Literal["time_series", "table", "heatmap"] = "time_series"


class Stacking(Model):
    mode: Literal["none", "normal", "percent"]
    group: str


class GraphStyle(Model):
    fill_opacity: Share
    line_width: Annotated[int, Meta(ge=0, le=10)]
    show_points: Literal["auto", "never", "always"]
    stacking: Stacking | None = None


class FieldDefaults(Model):
    unit: Literal["short", "bytes", "s", "ops", "reqps", "percentunit"]
    min: int
    custom: GraphStyle | None = None


class FieldConfig(Model):
    defaults: FieldDefaults
    overrides: Annotated[list[Any], Meta(max_length=0)]


class Reduce(Model):
    calcs: list[Literal["lastNotNull"]]


class StatOptions(Model):
    reduce_options: Reduce
    color_mode: Literal["none", "value", "background", "background_solid"]
    graph_mode: Literal["none", "area"]


class Legend(Model):
    display_mode: Literal["list", "table", "hidden"]
    placement: Literal["bottom", "right"]


class Tooltip(Model):
    mode: Literal["single", "multi", "none"]
    sort: Literal["none", "asc", "desc"]


class GraphOptions(Model):
    legend: Legend
    tooltip: Tooltip


class TableOptions(Model):
    show_header: bool


class OrganizeOptions(Model):
    exclude_by_name: dict[str, bool]


class Organize(Model):
    id: Literal["organize"]
    options: OrganizeOptions


class Row(Model, tag_field="type", tag="row"):
    id: int
    title: str
    collapsed: Literal[False]
    grid_pos: GridPosition
    panels: Annotated[list[Any], Meta(max_length=0)]  # the panels of an expanded row follow it in the list
    targets: tuple[()] = ()


class Queried(Model):
    """Common fields of all panels that have queries."""

    id: int
    title: str
    datasource: DataSource
    grid_pos: GridPosition
    field_config: FieldConfig
    targets: Annotated[list[Target], Meta(min_length=1)]


class Stat(Queried, tag_field="type", tag="stat"):
    options: StatOptions
    description: str = ""


class TimeSeries(Queried, tag_field="type", tag="timeseries"):
    options: GraphOptions
    description: str = ""


class Table(Queried, tag_field="type", tag="table"):
    options: TableOptions
    transformations: list[Organize]


class DataSourceVariable(Model, tag_field="type", tag="datasource"):
    name: str
    label: str
    query: Literal["prometheus"]
    current: dict[str, str]


class VariableQuery(Model):
    query: str
    ref_id: str


class QueryVariable(Model, tag_field="type", tag="query"):
    name: str
    label: str
    datasource: DataSource
    query: VariableQuery
    refresh: Literal[0, 1, 2]
    include_all: bool
    multi: bool
    current: dict[str, str]


class Templating(Model):
    list: list[DataSourceVariable | QueryVariable]


class Annotations(Model):
    list: Annotated[list[Any], Meta(max_length=0)]


class TimeRange(Model):
    from_: str = msgspec.field(name="from")
    to: str


class Dashboard(Model):
    uid: Annotated[str, Meta(max_length=40)]
    title: str
    description: str
    tags: list[str]
    schema_version: Literal[39]
    version: int
    editable: bool
    refresh: Annotated[str, Meta(pattern="^[0-9]+[smh]$")]
    time: TimeRange
    timezone: Literal["", "utc", "browser"]
    templating: Templating
    annotations: Annotations
    panels: list[Row | Stat | TimeSeries | Table]


def read_dashboard() -> Dashboard:
    return msgspec.json.decode(DASHBOARD.read_bytes(), type=Dashboard)


def list_targets() -> list[Target]:
    return [target for panel in read_dashboard().panels for target in panel.targets]


def substitute(expression: str) -> str:
    """Return an expression as Grafana sends it to Prometheus."""
    for variable, value in SAMPLE_VALUES.items():
        expression = expression.replace(variable, value)
    return expression


def list_grouped(expression: str) -> list[set[str]]:
    """Return the labels in each `by` and `on` clause."""
    return [set(found.replace(" ", "").split(",")) for found in _GROUPED.findall(expression)]


def test_dashboard_has_only_fields_of_grafanas_model() -> None:
    assert len(read_dashboard().panels) > 30


def test_misspelled_field_of_a_panel_is_rejected() -> None:
    text = DASHBOARD.read_text().replace('"legendFormat"', '"legendFromat"', 1)
    with pytest.raises(msgspec.ValidationError, match="legendFromat"):
        msgspec.json.decode(text, type=Dashboard)


def test_panels_have_unique_ids_and_do_not_overlap() -> None:
    panels = read_dashboard().panels
    assert len({panel.id for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel.grid_pos
        cells = {(at.x + x, at.y + y) for x in range(at.w) for y in range(at.h)}
        assert at.x + at.w <= COLUMNS, panel.title
        assert not cells & taken, panel.title
        taken |= cells


def test_rows_span_the_dashboard_and_come_before_their_panels() -> None:
    panels = read_dashboard().panels
    assert isinstance(panels[0], Row)
    assert all(panel.grid_pos.w == COLUMNS for panel in panels if isinstance(panel, Row))
    tops = [panel.grid_pos.y for panel in panels]
    assert tops == sorted(tops)


def test_queries_of_a_panel_have_unique_reference_ids() -> None:
    for panel in read_dashboard().panels:
        letters = [target.ref_id for target in panel.targets]
        assert len(set(letters)) == len(letters), panel.title


def test_tables_use_instant_queries() -> None:
    for panel in read_dashboard().panels:
        if isinstance(panel, Table):
            assert all(target.instant and target.format == "table" for target in panel.targets), panel.title


def test_every_variable_is_defined() -> None:
    defined = {variable.name for variable in read_dashboard().templating.list}
    assert defined == {"datasource", "job"}
    assert set(_VARIABLE.findall(DASHBOARD.read_text())) <= {*defined, "__rate_interval", "__all"}


def test_every_query_selects_the_jobs_of_the_dashboard_variable() -> None:
    for target in list_targets():
        selectors = _SELECTOR.findall(target.expr)
        assert selectors, target.expr
        assert all('{job=~"$job"' in labels for _, labels in selectors), target.expr


def test_prometheus_can_parse_every_query(tmp_path: Path) -> None:
    rules = [{"record": f"query:{n}", "expr": substitute(target.expr)} for n, target in enumerate(list_targets())]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    assert f"{len(rules)} rules found" in call_promtool("check", "rules", str(file))


async def test_every_label_of_a_query_exists_in_a_scrape(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as server:
        known = parse_metrics(await scrape_busy_server(server) + list_cluster_metrics(server))
    labels: dict[str, set[str]] = {}
    for sample in (sample for family in known.values() for sample in family.samples):
        labels.setdefault(sample.name, set(TARGET_LABELS)).update(sample.labels)
    for target in list_targets():
        selectors = _SELECTOR.findall(target.expr)
        own = set.union(*(labels[name] for name, _ in selectors))
        assert all(set(_MATCHED.findall(text)) <= labels[name] for name, text in selectors), target.expr
        grouped = list_grouped(target.expr)
        assert all(each <= own for each in grouped), target.expr
        shown = set(re.findall(r"\{\{(\w+)\}\}", target.legend_format))
        assert shown <= (grouped[0] if grouped else own), target.legend_format
    for variable in read_dashboard().templating.list:
        if isinstance(variable, QueryVariable):
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable.query.query)
            assert found is not None
            assert found[2] in labels[found[1]]
