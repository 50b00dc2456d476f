"""The documents list every background task with what it does and whether `/readyz` requires it."""

import re

from tests.support.documents import ROOT

from virtshape.supervise.tasks import TASKS

OF_CLUSTERS = {"leader-election", "install-defaults"}


def test_server_document_lists_the_tasks_of_the_server() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| ([^|]+) \| (yes|no) \|$", (ROOT / "docs" / "server.md").read_text(), re.MULTILINE
    )
    assert rows == [
        (kind.name, kind.about, "yes" if kind.required else "no")
        for kind in sorted(TASKS.values(), key=lambda kind: not kind.required)
        if kind.name not in OF_CLUSTERS
    ]


def test_cluster_document_names_the_tasks_of_clusters() -> None:
    text = (ROOT / "docs" / "cluster.md").read_text()
    assert all(f"`{name}`" in text for name in OF_CLUSTERS)
