"""Metrics of API requests and admission; request metrics have the names and labels that kube-apiserver uses."""

from collections.abc import Iterable

from virtshape.apiserver.admission.verdicts import VerdictCounters
from virtshape.apiserver.requestcounters import RequestCounters
from virtshape.daemon.metrics.families import PREFIX, Family, Sample, list_durations


def list_request_metrics(requests: RequestCounters) -> list[Family]:
    """Return the metrics of responses by verb, resource and status code, and of response times."""
    known = [(counter, labels._asdict()) for labels, counter in requests.counters.items()]
    return [
        Family(
            "apiserver_request_total",
            "counter",
            "Number of API requests by verb, resource and status code of the response; 499 if the client disconnected.",
            tuple(
                Sample(count, {**labels, "code": str(code)})
                for counter, labels in known
                for code, count in counter.codes.items()
            ),
        ),
        Family(
            "apiserver_request_duration_seconds",
            "histogram",
            "Response time of API requests in seconds, without streams (WATCH and CONNECT).",
            tuple(
                sample
                for counter, labels in known
                if not counter.is_long_running
                for sample in list_durations(counter.durations, labels)
            ),
        ),
    ]


def list_inflight_metrics(writes: int) -> list[Family]:
    """Return the metric of writes in progress."""
    text = "Number of requests in progress; only writes (mutating) are counted."
    samples = (Sample(writes, {"request_kind": "mutating"}),)
    return [Family("apiserver_current_inflight_requests", "gauge", text, samples)]


def list_verdict_metrics(counters: Iterable[VerdictCounters]) -> list[Family]:
    """Return the metrics of admission verdicts and of the violations in denied objects."""
    counters = list(counters)
    return [
        Family(
            f"{PREFIX}admission_verdicts_total",
            "counter",
            "Number of objects that admission allowed or denied, by reason of the Status.",
            tuple(
                Sample(count, {"type": each.type, **verdict._asdict()})
                for each in counters
                for verdict, count in each.verdicts.items()
            ),
        ),
        Family(
            f"{PREFIX}admission_causes_total",
            "counter",
            "Number of violations in denied objects, by reason of the cause.",
            tuple(
                Sample(count, {"type": each.type, **cause._asdict()})
                for each in counters
                for cause, count in each.causes.items()
            ),
        ),
    ]
