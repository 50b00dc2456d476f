"""Metrics of a process and its background tasks."""

from virtshape.daemon.metrics.families import Sample
from virtshape.daemon.metrics.process import list_build_metrics, list_leader_metrics, list_task_metrics
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import COMPACTION


def test_build_metric_shows_the_component() -> None:
    (family,) = list_build_metrics("controller")
    (sample,) = family.samples
    assert sample.labels["component"] == "controller"


def test_leader_metric_is_1_while_the_process_holds_the_lease() -> None:
    (family,) = list_leader_metrics("lease", is_leading=True)
    assert list(family.samples) == [Sample(1, {"name": "lease"})]


async def test_task_metrics_show_state_and_restarts() -> None:
    supervisor = Supervisor()

    async def work() -> None:
        """Return immediately."""

    async with supervisor.running(COMPACTION, work, finishes=True):
        supervisor.restarts["compaction"] += 2
        up, restarts = list_task_metrics(supervisor)
    assert list(up.samples) == [Sample(1, {"task": "compaction"})]
    assert list(restarts.samples) == [Sample(2, {"task": "compaction"})]
