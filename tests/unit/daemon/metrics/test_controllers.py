"""Metrics of control loops."""

from virtshape.controllers.runtime.loop import DONE, Loop, Name, Result
from virtshape.daemon.metrics.controllers import list_loop_metrics


async def reconcile(_: Name) -> Result:
    return DONE


async def test_control_loop_metrics_show_queue_and_reconciles() -> None:
    loop = Loop("vm", reconcile)
    first, second = Name("a", "b"), Name("a", "c")
    loop.queue.add(first)
    loop.queue.add(second)
    await loop.step(await loop.queue.get())
    loop.queue.retry(first)
    families = {family.name: list(family.samples) for family in list_loop_metrics([loop])}
    values = {
        (name, sample.labels.get("result", ""), sample.suffix): sample.value
        for name, samples in families.items()
        for sample in samples
        if sample.suffix != "_bucket"
    }
    loop.queue.close()
    assert values["workqueue_depth", "", ""] == 1
    assert values["workqueue_adds_total", "", ""] == 2
    assert values["workqueue_retries_total", "", ""] == 1
    assert values["workqueue_queue_duration_seconds", "", "_count"] == 1
    assert values["controller_runtime_reconcile_total", "success", ""] == 1
    assert values["controller_runtime_reconcile_total", "error", ""] == 0
    assert values["controller_runtime_reconcile_time_seconds", "", "_count"] == 1
    assert {sample.labels["name"] for sample in families["workqueue_depth"]} == {"vm"}
