from pathlib import Path
from typing import Any

import pytest
from tests.support.domains import EMULATING
from tests.support.guests import build_guest

from virtshape.api.codec import encode
from virtshape.api.model import JsonObject
from virtshape.launcher.guest.plan import Login, Plan
from virtshape.launcher.guest.planning import find_logins, make_plan
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.report import Refusal, Report


def plan(directory: Path, domain: JsonObject | None = None, *, state: str | None = None, **spec: Any) -> Plan | Report:
    vmi = build_guest("b7f1a0de-0000-4000-8000-000000000001", domain, **spec)
    launch_request = LaunchRequest(vmi=vmi, host=EMULATING, state_directory=state)
    Layout(directory).launch_request.write_bytes(encode(launch_request))
    return make_plan(directory)


def test_launch_request_is_converted_to_a_plan(tmp_path: Path) -> None:
    made = plan(tmp_path, startStrategy="Paused", terminationGracePeriodSeconds=5)
    assert isinstance(made, Plan)
    assert (made.name, made.paused, made.grace, made.accelerator) == ("default_tested", True, 5, "tcg")
    assert (made.addresses, made.netdevs) == ({"default": ("10.0.2.15",)}, {"default": "hostua-default"})
    assert [note.field for note in made.notes][:1] == ["spec.domain"]
    assert made.xml.startswith('<domain type="qemu">')


def test_default_grace_period_is_30_seconds(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert isinstance(made, Plan)
    assert (made.paused, made.grace) == (False, 30)


def test_all_refused_fields_of_a_guest_are_reported_at_once(tmp_path: Path) -> None:
    report = plan(tmp_path, {"cpu": {"model": "Nothing"}, "machine": {"type": "nothing"}})
    assert isinstance(report, Report)
    assert (report.state, report.reason) == ("failed", "NotPossibleHere")
    assert [refusal.field for refusal in report.refusals] == ["spec.domain.machine.type", "spec.domain.cpu.model"]
    assert report.message == "; ".join(f"{one.field}: {one.reason}" for one in report.refusals)


def test_missing_volumes_are_reported_with_their_fields(tmp_path: Path) -> None:
    report = plan(
        tmp_path,
        {"devices": {"disks": [{"name": "root", "disk": {}}]}},
        volumes=[{"name": "root", "dataVolume": {"name": "nothing"}}],
    )
    assert isinstance(report, Report)
    assert (report.state, report.reason) == ("failed", "VolumesNotReady")
    assert [type(refusal) for refusal in report.refusals] == [Refusal]
    assert report.message.startswith("spec.volumes[0].dataVolume: ")


@pytest.mark.parametrize("persistent", [True, False])
def test_only_a_persistent_tpm_uses_the_state_directory(tmp_path: Path, persistent: bool) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for _ in range(2):
        made = plan(tmp_path, {"devices": {"tpm": {"persistent": persistent}}}, state=str(state))
        assert isinstance(made, Plan)
    link = Layout(tmp_path).tpm
    assert link.is_symlink() == persistent
    assert (state / "tpm").exists() == persistent


BY_AGENT: JsonObject = {"propagationMethod": {"qemuGuestAgent": {}}, "source": {"secret": {"secretName": "s"}}}
KEYS: JsonObject = {
    "propagationMethod": {"qemuGuestAgent": {"users": ["u"]}},
    "source": {"secret": {"secretName": "k"}},
}
BY_DISK: JsonObject = {"propagationMethod": {"noCloud": {}}, "source": {"secret": {"secretName": "k"}}}


def test_agent_credentials_are_found_and_missing_secrets_are_refused(tmp_path: Path) -> None:
    credentials = [{"userPassword": BY_AGENT}, {"sshPublicKey": KEYS}, {"sshPublicKey": BY_DISK}]
    vmi = build_guest("b7f1a0de-0000-4000-8000-000000000001", accessCredentials=credentials)
    launch_request = LaunchRequest(vmi=vmi, host=EMULATING, mounts={"s-access-cred": "/s", "k-access-cred": "/k"})
    assert find_logins(launch_request) == [Login(directory="/s"), Login(directory="/k", users=("u",))]
    report = plan(tmp_path, accessCredentials=credentials[:1])
    assert isinstance(report, Report)
    assert report.message == "spec.accessCredentials[0]: the secret s is missing"
