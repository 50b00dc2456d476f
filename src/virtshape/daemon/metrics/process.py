"""Metrics of a process: version, leadership and background tasks. prometheus_client adds CPU time and memory."""

from importlib.metadata import version

from virtshape.daemon.metrics.families import PREFIX, Family, Sample
from virtshape.supervise.supervisor import Supervisor


def list_build_metrics(component: str) -> list[Family]:
    """Return the metric that shows the component and the version of the program."""
    about = {"component": component, "version": version("virtshape")}
    return [
        Family(f"{PREFIX}build_info", "gauge", "Component and version of the running program.", (Sample(1, about),))
    ]


def list_leader_metrics(lease: str, *, is_leading: bool) -> list[Family]:
    """Return the metric that shows whether this process is the leader."""
    text = "Whether this process holds the lease (1) or is a candidate (0)."
    return [Family("leader_election_master_status", "gauge", text, (Sample(is_leading, {"name": lease}),))]


def list_task_metrics(supervisor: Supervisor) -> list[Family]:
    """Return the metrics that show whether background tasks work, and how often they were restarted."""
    checks = supervisor.list_checks()
    return [
        Family(
            f"{PREFIX}task_up",
            "gauge",
            "Whether all background tasks of this name work (1) or one of them fails (0).",
            tuple(Sample(check.passed, {"task": name}) for name, check in checks.items()),
        ),
        Family(
            f"{PREFIX}task_restarts_total",
            "counter",
            "Number of restarts of background tasks after a failure.",
            tuple(Sample(supervisor.restarts[name], {"task": name}) for name in checks),
        ),
    ]
