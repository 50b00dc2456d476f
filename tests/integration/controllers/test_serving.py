"""Controllers in the server process."""

from pathlib import Path

import pytest
from tests.support.controllers import ControlledSystem, instancetype_tree, preference_tree, vm_tree

from virtshape.api.core.node import Node
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.standalone.controllers import list_stored
from virtshape.standalone.server import Settings, serve


@pytest.mark.parametrize("controllers", [True, False], ids=["with controllers", "without"])
async def test_server_runs_controllers_only_if_enabled(tmp_path: Path, controllers: bool) -> None:
    settings = Settings(directory=tmp_path, port=0, catalog=False, controllers=controllers, launcher="simulate")
    async with serve(settings) as ready:
        client = RestClient(HttpTransport(get_access(path=str(ready.kubeconfig))))
        try:
            system = ControlledSystem(None, client)
            await system.create(instancetype_tree(), preference_tree(), vm_tree())
            if controllers:
                await system.wait_for("Running")
            else:
                assert await system.find(Node, "simulated", "") is None
        finally:
            await client.close()


def test_garbage_collector_covers_all_stored_kinds() -> None:
    names = [kind.__name__ for kind in list_stored()]
    assert {"VirtualMachine", "ControllerRevision", "ClusterRole", "Namespace"} <= set(names)
    assert not {"TokenReview", "CustomResourceDefinition", "UploadTokenRequest"} & set(names)
    assert "Namespace" not in [kind.__name__ for kind in list_stored(namespaced=True)]
