"""The run strategy of a VM."""

import pytest
from tests.support.build import build_vm

from virtshape.api.kubevirt.virtualmachine import run_strategy
from virtshape.api.model import JsonObject


@pytest.mark.parametrize(
    ("spec", "strategy"),
    [
        ({"runStrategy": "Manual"}, "Manual"),
        ({"runStrategy": None, "running": True}, "Always"),
        ({"runStrategy": None, "running": False}, "Halted"),
        ({"runStrategy": None}, "Halted"),
    ],
    ids=["runStrategy", "running", "not running", "neither"],
)
def test_run_strategy_is_derived_from_run_strategy_or_running_and_defaults_to_halted(
    spec: JsonObject, strategy: str
) -> None:
    assert run_strategy(build_vm(**spec).spec) == strategy
