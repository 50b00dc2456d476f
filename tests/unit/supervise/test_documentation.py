"""The documentation lists every background task, its purpose and whether `/readyz` requires it."""

import re

from tests.support.documents import ROOT

from virtshape.supervise.tasks import TASKS

OF_CLUSTERS = {"leader-election", "install-defaults"}


def test_server_documentation_lists_every_task_of_the_server() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| ([^|]+) \| (yes|no) \|$", (ROOT / "docs" / "server.md").read_text(), re.MULTILINE
    )
    assert rows == [
        (kind.name, kind.about, "yes" if kind.required else "no")
        for kind in sorted(TASKS.values(), key=lambda kind: not kind.required)
        if kind.name not in OF_CLUSTERS
    ]


def test_cluster_documentation_names_every_task_of_cluster_processes() -> None:
    text = (ROOT / "docs" / "cluster.md").read_text()
    assert all(f"`{name}`" in text for name in OF_CLUSTERS)
