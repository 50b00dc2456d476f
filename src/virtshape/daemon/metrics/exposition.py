"""
Encode metric families with prometheus_client, in the format that the client accepts: Prometheus text or OpenMetrics.

Only a thread that encodes a scrape imports this module: the import takes 20 ms and 2 MB, and most standalone servers
are never scraped.
"""

import gzip
import re
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from virtshape.daemon.metrics import families as plain
from virtshape.daemon.metrics.families import Family

COMPRESS_FROM: Final = 16 * 1024
YIELD_SAMPLES: Final = 64
"""Number of samples after which the thread that encodes them lets other threads run."""
_ESCAPING: Final = re.compile(r";\s*escaping=[^;,]*")


class Exposition(NamedTuple):
    """An encoded response to a scrape."""

    body: bytes
    content_type: str
    is_compressed: bool


class _Metrics(Collector):
    """A collector of the given metrics."""

    def __init__(self, *metrics: Metric) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def encode_families(
    families: Iterable[Family], *, accept: str = "", names: frozenset[str] = frozenset(), compress: bool = False
) -> Exposition:
    """Encode the families in the format that `accept` requests; with `names`, only the families with these names."""
    encode, content_type = choose_encoder(_ESCAPING.sub("", accept))  # none of our names needs escaping
    end = encode(_Metrics())
    parts = [] if names else [encode(_PROCESS).removesuffix(end)]
    for family in families:
        if not names or family.name in names:
            parts.append(encode(_Metrics(convert(family))).removesuffix(end))
            parts += family.lines
    body = b"".join([*parts, end])
    compress = compress and len(body) > COMPRESS_FROM
    return Exposition(gzip.compress(body, 1, mtime=0) if compress else body, content_type, compress)


def convert(family: Family) -> Metric:
    """Convert a family to a Metric of prometheus_client."""
    metric = Metric(family.name.removesuffix("_total"), family.help, family.type)
    # An encoder iterates over the samples once, so a generator can replace the list.
    metric.samples = cast("list[Sample]", _convert_samples(family))
    return metric


def _convert_samples(family: Family) -> Iterator[Sample]:
    for count, sample in enumerate(family.samples, 1):
        yield Sample(f"{family.name}{sample.suffix}", dict(sample.labels), sample.value)
        if count % YIELD_SAMPLES == 0:
            time.sleep(0)  # yields to the event loop, which otherwise waits 5 ms for the interpreter lock


def render_samples(name: str, samples: Iterable[plain.Sample]) -> bytes:
    """Encode samples as lines of text, which are the same in all formats."""
    return "".join(_render_sample(f"{name}{sample.suffix}", sample) for sample in samples).encode()


def _render_sample(name: str, sample: plain.Sample) -> str:
    labels = ",".join(f'{key}="{_escape(value)}"' for key, value in sorted(sample.labels.items()))
    value: str = floatToGoString(sample.value)  # type: ignore[no-untyped-call]  # the library has no types here
    return f"{name}{f'{{{labels}}}' if labels else ''} {value}\n"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _register_process() -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry


_PROCESS: Final = _register_process()
"""CPU time, memory, file descriptors and start time of the process, and the version of Python."""
