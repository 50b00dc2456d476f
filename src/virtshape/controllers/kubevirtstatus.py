"""
Reconcile the KubeVirt object: its status (conditions, versions, failing background tasks) and the catalog.

KubeVirt's clients wait for these conditions.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.conditions import put_condition
from virtshape.api.kubevirt.kubevirt import KubeVirt, KubeVirtCondition, KubeVirtStatus
from virtshape.api.times import Clock, format_time
from virtshape.client.protocol import Client
from virtshape.controllers.commoninstancetypes import CommonInstancetypes, LoadCatalog
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.engine.machinetype import default_architecture
from virtshape.supervise.checks import Checks

VERSION: Final = f"v{version('virtshape')}"


class KubeVirtReconciler:
    """
    Reconciles the KubeVirt object.

    `runs_guests` is True if there is a launcher, `list_checks` reports background tasks, and `load_catalog` returns the
    common instance types and preferences.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        clock: Clock,
        *,
        runs_guests: bool,
        list_checks: Checks = dict,
        load_catalog: LoadCatalog = tuple,
    ) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._runs_guests = runs_guests
        self._list_checks = list_checks
        self._catalog = CommonInstancetypes(client, cache, load_catalog)

    async def reconcile(self, name: Name) -> Result:
        """Update the status of the KubeVirt object, and create or remove the common instance types and preferences."""
        installed = self._cache.find(KubeVirt, name.name, name.namespace)
        if installed is None or installed.metadata.deletion_timestamp is not None:
            return DONE
        failures = {name: check.failure for name, check in self._list_checks().items() if check.failure}
        stamp = format_time(self._clock())
        status = make_kubevirt_status(installed, stamp, runs_guests=self._runs_guests, failures=failures)
        if status != installed.status:
            await self._client.update_status(replace(installed, status=status))
        await self._catalog.reconcile(installed.spec.configuration)
        return DONE


def make_kubevirt_status(
    installed: KubeVirt, stamp: str, *, runs_guests: bool, failures: Mapping[str, str] | None = None
) -> KubeVirtStatus:
    """Return the status of the KubeVirt object; `failures` are the failing background tasks with their reason."""
    status = installed.status or KubeVirtStatus()
    conditions = status.conditions or []
    for wanted in _list_conditions(runs_guests=runs_guests, failures=failures or {}):
        conditions = put_condition(conditions, wanted, stamp)
    return replace(
        status,
        phase="Deployed",
        conditions=conditions,
        observed_generation=installed.metadata.generation,
        default_architecture=default_architecture(installed.spec.configuration),
        operator_version=VERSION,
        observed_kube_virt_version=VERSION,
        target_kube_virt_version=VERSION,
    )


def _list_conditions(*, runs_guests: bool, failures: Mapping[str, str]) -> list[KubeVirtCondition]:
    ready = "AllComponentsReady"
    degraded = KubeVirtCondition("Degraded", "False", ready, "All components are ready.")
    if failures:
        message = "; ".join(f"{name} failed: {failure}" for name, failure in failures.items())
        degraded = KubeVirtCondition("Degraded", "True", "BackgroundTaskFailed", message)
    elif not runs_guests:
        message = "No launcher is running: instances wait for a node."
        degraded = KubeVirtCondition("Degraded", "True", "NoLauncher", message)
    return [
        KubeVirtCondition("Available", "True", ready, "All components are ready."),
        KubeVirtCondition("Progressing", "False", ready, "All components are ready."),
        degraded,
        KubeVirtCondition("Created", "True", "AllResourcesCreated", "All resources were created."),
    ]
