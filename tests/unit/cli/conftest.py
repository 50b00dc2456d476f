"""CLI tests run without a configured server, unless a test sets one."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _without_a_server(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("KUBECONFIG", "XDG_STATE_HOME", "VIRTSHAPE_DATA_DIR", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return home
