import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject


def _template(*arguments: str) -> JsonObject:
    return call_virtctl("create", "vm", *arguments).template


def _ssh(secret: str, method: JsonObject) -> JsonObject:
    return {"sshPublicKey": {"source": {"secret": {"secretName": secret}}, "propagationMethod": method}}


@pytest.mark.parametrize(
    ("flags", "credential", "cloud_init"),
    [
        pytest.param(
            ["--access-cred=src:k,user:u"],
            _ssh("k", {"qemuGuestAgent": {"users": ["u"]}}),
            {
                "cloudInitNoCloud": {
                    "userData": "#cloud-config\nruncmd:\n  - [ setsebool, -P, 'virt_qemu_ga_manage_ssh', 'on' ]"
                }
            },
            id="keys through the guest agent",
        ),
        pytest.param(
            ["--access-cred=type:SSH,src:k,method:GA", "--user=u", "--ga-manage-ssh=false"],
            _ssh("k", {"qemuGuestAgent": {"users": ["u"]}}),
            {"cloudInitNoCloud": {"userData": "#cloud-config\nuser: u"}},
            id="user of cloud-init, without SELinux changes",
        ),
        pytest.param(
            ["--access-cred=src:k,user:u", "--ga-manage-ssh=false"],
            _ssh("k", {"qemuGuestAgent": {"users": ["u"]}}),
            None,
            id="without cloud-init",
        ),
        pytest.param(
            ["--access-cred=src:k,user:u", "--cloud-init-user-data=YQ=="],
            _ssh("k", {"qemuGuestAgent": {"users": ["u"]}}),
            {"cloudInitNoCloud": {"userDataBase64": "YQ=="}},
            id="user data of the user",
        ),
        pytest.param(
            ["--access-cred=src:k,method:noCloud"],
            _ssh("k", {"noCloud": {}}),
            {"cloudInitNoCloud": {"userData": "#cloud-config"}},
            id="keys through noCloud",
        ),
        pytest.param(
            ["--access-cred=src:k,method:configdrive", "--cloud-init=CONFIGDRIVE"],
            _ssh("k", {"configDrive": {}}),
            {"cloudInitConfigDrive": {"userData": "#cloud-config"}},
            id="keys through a config drive",
        ),
        pytest.param(
            ["--access-cred=type:password,src:p,method:ga"],
            {
                "userPassword": {
                    "source": {"secret": {"secretName": "p"}},
                    "propagationMethod": {"qemuGuestAgent": {}},
                }
            },
            None,
            id="password",
        ),
    ],
)
def test_access_credential_adds_the_cloud_init_volume_it_requires(
    flags: list[str], credential: JsonObject, cloud_init: JsonObject | None
) -> None:
    template = _template(*flags)
    assert template["accessCredentials"] == [credential]
    assert template.get("volumes") == ([{"name": "cloudinitdisk", **cloud_init}] if cloud_init else None)


def test_access_credentials_have_the_order_of_their_flags() -> None:
    credentials = _template("--access-cred=type:password,src:a", "--access-cred=src:b,method:nocloud")[
        "accessCredentials"
    ]
    assert [list(credential) for credential in credentials] == [["userPassword"], ["sshPublicKey"]]


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        pytest.param(["--access-cred="], "the value is empty", id="empty"),
        pytest.param(["--access-cred=type:ssh,user:u"], "src is required", id="no secret"),
        pytest.param(["--access-cred=src:ns/k,user:u"], "must be in the VM's namespace", id="namespace"),
        pytest.param(["--access-cred=src:k"], "user is required", id="agent without user"),
        pytest.param(["--access-cred=src:k,type:x"], "must be ssh or password", id="unknown type"),
        pytest.param(["--access-cred=src:k,method:x"], "must be ga, nocloud or configdrive", id="unknown method"),
        pytest.param(["--access-cred=src:k,method:nocloud,user:u"], "only method ga uses it", id="noCloud with user"),
        pytest.param(
            ["--access-cred=src:p,type:password,user:u"], "the Secret contains the users", id="password with user"
        ),
        pytest.param(
            ["--access-cred=src:p,type:password,method:nocloud"], "passwords require ga", id="password by noCloud"
        ),
        pytest.param(
            ["--access-cred=src:k,method:nocloud", "--cloud-init=none"],
            "conflicts with --cloud-init none",
            id="noCloud without cloud-init",
        ),
        pytest.param(
            ["--access-cred=src:k,method:nocloud", "--access-cred=src:k,method:configdrive"],
            "conflicts with --cloud-init noCloud",
            id="two kinds of cloud-init",
        ),
    ],
)
def test_invalid_access_credential_is_rejected(flags: list[str], error: str) -> None:
    outcome = call_virtctl("create", "vm", *flags)
    assert outcome.status == 2
    assert outcome.err.startswith("error: --access-cred: ")
    assert error in outcome.err
