"""
Table of all background tasks, with their purpose and whether readiness depends on them.

Health checks, metrics and `virtshape status` use these names. Add new tasks here first.
"""

from typing import Final

from msgspec import Struct


class TaskKind(Struct, frozen=True):
    """A kind of background task; there may be several tasks of a kind, for example one per guest."""

    name: str
    about: str
    """What the task does."""
    required: bool
    """True if the process is not ready while a task of this kind fails."""


TASKS: Final[dict[str, TaskKind]] = {}


def _define(name: str, about: str, *, required: bool) -> TaskKind:
    kind = TASKS[name] = TaskKind(name, about, required)
    return kind


INFORMERS: Final = _define("informers", "keep a copy of each kind of object up to date", required=True)
CONTROLLERS: Final = _define("controllers", "reconcile objects, one work queue per kind of object", required=True)
CONTROLLER_MANAGER: Final = _define("controller-manager", "start the controllers and their caches", required=True)
GARBAGE_COLLECTOR: Final = _define("garbage-collector", "track owner references and delete orphans", required=True)
ACCOUNTS_AND_ROLES: Final = _define(
    "accounts-and-roles", "create default service accounts and aggregate cluster roles", required=True
)
LEADER_ELECTION: Final = _define(
    "leader-election", "renew the lease and run the controllers while this process is the leader", required=True
)
CERTIFICATES: Final = _define("certificates", "renew and reload the serving certificate", required=True)
STORE_PROBE: Final = _define("store-probe", "check that an idle or failing store can be written", required=True)
LAUNCHER: Final = _define("launcher", "query the capabilities of QEMU and register the node", required=False)
GUESTS: Final = _define("guests", "follow the launcher process of each guest", required=False)
STORAGE_JOBS: Final = _define("storage-jobs", "import, copy and measure disk images", required=False)
EVENT_RECORDER: Final = _define("event-recorder", "write events", required=False)
EVENT_EXPIRY: Final = _define("event-expiry", "delete events older than an hour", required=False)
COMPACTION: Final = _define("compaction", "delete old revisions from the store", required=False)
COMPONENT_STATUS: Final = _define(
    "component-status", "report in Deployments which components are ready", required=False
)
INSTALL_DEFAULTS: Final = _define("install-defaults", "create the configuration and the catalog", required=False)
