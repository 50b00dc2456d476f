"""Status of the KubeVirt object."""

import pytest
from tests.support.instances import EARLIER, STAMP

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.controllers.kubevirtstatus import VERSION, make_kubevirt_status

INSTALLED = from_tree(
    {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "generation": 3},
        "spec": {},
        "status": {"conditions": [{"type": "Available", "status": "True", "lastTransitionTime": EARLIER}]},
    },
    KubeVirt,
)


@pytest.mark.parametrize(("runs_guests", "degraded"), [(True, "False"), (False, "True")], ids=["launcher", "none"])
def test_kubevirt_status_reports_launcher_and_versions(runs_guests: bool, degraded: str) -> None:
    status = make_kubevirt_status(INSTALLED, STAMP, runs_guests=runs_guests)
    assert (status.phase, status.observed_generation, status.default_architecture) == ("Deployed", 3, "amd64")
    assert {status.operator_version, status.observed_kube_virt_version, status.target_kube_virt_version} == {VERSION}
    assert {one.type: one.status for one in status.conditions or ()} == {
        "Available": "True",
        "Progressing": "False",
        "Degraded": degraded,
        "Created": "True",
    }
    assert [one.last_transition_time for one in status.conditions or ()] == [EARLIER, STAMP, STAMP, STAMP]
