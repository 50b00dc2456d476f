"""Metrics of the standalone server: of its API, its store, its controllers and its VMs."""

from typing import Final

from virtshape.apiserver.admission.verdicts import VerdictCounters
from virtshape.apiserver.handler import Server
from virtshape.controllers.manager import Controllers
from virtshape.daemon.metrics.controllers import list_loop_metrics
from virtshape.daemon.metrics.families import Family
from virtshape.daemon.metrics.process import list_build_metrics, list_task_metrics
from virtshape.daemon.metrics.requests import list_inflight_metrics, list_request_metrics, list_verdict_metrics
from virtshape.daemon.metrics.store import list_store_metrics
from virtshape.daemon.metrics.vms import VmMetrics
from virtshape.store.store import Store
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "embedded"


class ServerMetrics:
    """Everything that a scrape of the server reads; `controllers` is None while no controllers run."""

    def __init__(self, store: Store, supervisor: Supervisor, verdicts: VerdictCounters) -> None:
        self._store = store
        self._supervisor = supervisor
        self._verdicts = verdicts
        self.server: Server | None = None
        self.controllers: Controllers | None = None
        self._vms = VmMetrics()

    def list_families(self) -> list[Family]:
        """Return all metrics of the server."""
        families = [
            *list_build_metrics(COMPONENT),
            *list_task_metrics(self._supervisor),
            *list_store_metrics(self._store),
            *list_verdict_metrics([self._verdicts]),
        ]
        if self.server is not None:
            families += list_request_metrics(self.server.requests)
            families += list_inflight_metrics(self.server.writes_in_progress)
        if self.controllers is not None:
            families += list_loop_metrics(self.controllers.loops)
            families += self._vms.list_families(self.controllers.informers)
        return families
