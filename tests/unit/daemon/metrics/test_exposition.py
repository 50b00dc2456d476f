"""Encoding of metric families in the formats of Prometheus."""

import gzip

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from virtshape.apiserver.message import Request
from virtshape.daemon.metrics.exposition import COMPRESS_FROM, encode_families, render_samples
from virtshape.daemon.metrics.families import Family, Sample, list_durations
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.telemetry.histogram import Histogram

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def build_families() -> list[Family]:
    durations = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        durations.add(seconds)
    return [
        Family("x_total", "counter", "What\nit is.", (Sample(3, {"a": 'q"\\\n'}), Sample(0.5, {"a": "é"}))),
        Family("x_seconds", "histogram", "How long.", tuple(list_durations(durations, {"a": "b"}))),
        Family("x_size", "gauge", "How large.", (Sample(number, {"of": str(number)}) for number in range(2))),
    ]


def test_text_format_escapes_help_and_label_values() -> None:
    found = encode_families(build_families(), names=frozenset({"x_total"}))
    assert found.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert found.body.decode() == (
        '# HELP x_total What\\nit is.\n# TYPE x_total counter\nx_total{a="q\\"\\\\\\n"} 3.0\nx_total{a="é"} 0.5\n'
    )


def test_histogram_buckets_are_cumulative() -> None:
    lines = encode_families(build_families(), names=frozenset({"x_seconds"})).body.decode().splitlines()[2:]
    assert lines[:3] == [
        'x_seconds_bucket{a="b",le="0.1"} 2.0',
        'x_seconds_bucket{a="b",le="1.0"} 3.0',
        'x_seconds_bucket{a="b",le="+Inf"} 4.0',
    ]
    assert lines[4] == 'x_seconds_count{a="b"} 4.0'


@pytest.mark.parametrize("accept", ["", "text/plain;version=1.0.0", OPENMETRICS])
def test_each_format_can_be_parsed(accept: str) -> None:
    found = encode_families(build_families(), accept=accept)
    parse = parse_openmetrics if accept == OPENMETRICS else parse_text
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(found.body.decode())
        for sample in family.samples
    }
    assert samples["x_total", (("a", 'q"\\\n'),)] == 3
    assert samples["x_seconds_count", (("a", "b"),)] == 4
    assert samples["x_size", (("of", "1"),)] == 1
    assert samples["process_resident_memory_bytes", ()] > 0
    assert found.content_type.startswith(accept.partition(";")[0] or "text/plain")


LABELS = {"name": 'q"\\\n\\n', "of": "é🙂", "empty": "", "Z": "{},= "}
VALUES = (0, 1, 2.5, -3, 1 << 33, 1234567, 999999, 1e-9, 1e21, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize("accept", ["", "text/plain;version=1.0.0;escaping=allow-utf-8", OPENMETRICS])
def test_rendered_samples_equal_the_output_of_prometheus_client(accept: str) -> None:
    samples = [Sample(1), *(Sample(value, LABELS) for value in VALUES)]
    families = (
        Family("kubevirt_vm_info", "gauge", "Samples.", samples),
        Family("kubevirt_vm_info", "gauge", "Samples.", lines=[render_samples("kubevirt_vm_info", samples)]),
    )
    names = frozenset({"kubevirt_vm_info"})
    theirs, ours = (encode_families([family], accept=accept, names=names).body for family in families)
    assert ours == theirs
    assert ours.count(b"\n") == len(samples) + 2 + (accept == OPENMETRICS)


def test_escaping_scheme_does_not_change_metric_names() -> None:
    found = encode_families(build_families(), accept=f"{OPENMETRICS};escaping=dots", names=frozenset({"x_size"}))
    assert b'\nx_size{of="0"} 0.0\n' in found.body


def test_only_metrics_with_the_selected_names_are_encoded() -> None:
    found = encode_families(build_families(), names=frozenset({"x_size", "unknown"}))
    assert found.body.decode().splitlines()[2:] == ['x_size{of="0"} 0.0', 'x_size{of="1"} 1.0']


async def test_large_scrape_is_compressed_for_clients_that_accept_it() -> None:
    many = COMPRESS_FROM // 8

    def list_families() -> list[Family]:
        return [Family("x", "gauge", "Many.", (Sample(1, {"of": str(number)}) for number in range(many)))]

    scraper = Scraper(list_families)
    plain = await scraper.answer(Request("GET", "/metrics?name[]=x", {}))
    packed = await scraper.answer(Request("GET", "/metrics?name[]=x", {"accept-encoding": "gzip"}))
    assert ("content-encoding", "gzip") in packed.headers
    assert ("content-encoding", "gzip") not in plain.headers
    assert gzip.decompress(packed.body) == plain.body
