from pathlib import Path

import pytest
import yaml
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.create.cloudinit import CloudInit, build_cloud_init, read_keys, render_user_data
from virtshape.cli.create.parameters import ParameterError


def _volumes(*arguments: str) -> list[JsonObject] | None:
    volumes: list[JsonObject] | None = call_virtctl("create", "vm", *arguments).template.get("volumes")
    return volumes


@pytest.mark.parametrize(
    ("flags", "source"),
    [
        pytest.param(["--user=u"], {"cloudInitNoCloud": {"userData": "#cloud-config\nuser: u"}}, id="user"),
        pytest.param(
            ["--ga-manage-ssh"],
            {
                "cloudInitNoCloud": {
                    "userData": "#cloud-config\nruncmd:\n  - [ setsebool, -P, 'virt_qemu_ga_manage_ssh', 'on' ]"
                }
            },
            id="guest agent",
        ),
        pytest.param(
            ["--ssh-key=a b,c d", "--ssh-key", "e f"],
            {"cloudInitNoCloud": {"userData": "#cloud-config\nssh_authorized_keys:\n  - a b\n  - c d\n  - e f"}},
            id="keys",
        ),
        pytest.param(["--cloud-init=nocloud"], {"cloudInitNoCloud": {"userData": "#cloud-config"}}, id="empty noCloud"),
        pytest.param(
            ["--cloud-init=configDrive", "--user=u"],
            {"cloudInitConfigDrive": {"userData": "#cloud-config\nuser: u"}},
            id="config drive",
        ),
        pytest.param(
            ["--cloud-init-user-data=YQ==", "--cloud-init=configdrive", "--cloud-init-network-data=Yg=="],
            {"cloudInitConfigDrive": {"userDataBase64": "YQ==", "networkDataBase64": "Yg=="}},
            id="user data of the user",
        ),
        pytest.param(
            ["--cloud-init-network-data=Yg=="],
            {"cloudInitNoCloud": {"userData": "#cloud-config", "networkDataBase64": "Yg=="}},
            id="only network data",
        ),
    ],
)
def test_cloud_init_flags_of_create_vm_add_a_cloud_init_volume(flags: list[str], source: JsonObject) -> None:
    assert _volumes(*flags) == [{"name": "cloudinitdisk", **source}]


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--user="],
        ["--ssh-key="],
        ["--ga-manage-ssh=false"],
        ["--password-file="],
        ["--cloud-init-user-data="],
        ["--cloud-init=none", "--user=u", "--password-file=missing"],
    ],
)
def test_empty_values_and_kind_none_add_no_cloud_init_volume(flags: list[str]) -> None:
    assert _volumes(*flags) is None


def test_password_file_is_read_and_causes_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" s3cret\n\n", encoding="utf-8")
    outcome = call_virtctl("create", "vm", "--user=u", f"--password-file={file}")
    user_data = outcome.template["volumes"][0]["cloudInitNoCloud"]["userData"]
    assert user_data == "#cloud-config\nuser: u\npassword: s3cret\nchpasswd: { expire: False }"
    assert "warning: --password-file: the password is stored in the VM in clear text" in outcome.err


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        pytest.param(["--password-file=missing"], "--password-file: cannot read missing: No such", id="no file"),
        pytest.param(['--ssh-key="a'], "--ssh-key: invalid quotes", id="quotes"),
        pytest.param(["--cloud-init="], "'--cloud-init': unknown value \"\"", id="no kind"),
        pytest.param(["--cloud-init=x"], "must be one of noCloud, configDrive, none", id="unknown kind"),
        pytest.param(
            ["--cloud-init-user-data=", "--user="],
            "--cloud-init-user-data and --user are mutually exclusive",
            id="user, both empty",
        ),
        pytest.param(["--cloud-init-user-data=YQ==", "--password-file=x"], "are mutually exclusive", id="password"),
        pytest.param(["--cloud-init-user-data=YQ==", "--ssh-key=x"], "are mutually exclusive", id="key"),
        pytest.param(["--cloud-init-user-data=YQ==", "--ga-manage-ssh=false"], "are mutually exclusive", id="agent"),
    ],
)
def test_invalid_cloud_init_flags_are_rejected(
    flags: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call_virtctl("create", "vm", *flags)
    assert outcome.status == 2
    assert error in outcome.err


def test_password_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"\xff\xfe")
    outcome = call_virtctl("create", "vm", f"--password-file={file}")
    assert outcome.status == 2
    assert "is not UTF-8 text" in outcome.err


@pytest.mark.parametrize("word", ["123", "yes", "#x", "a: b", "'", '"', "- x", "{", "null", "a\nb", "ü", "*x", "x # y"])
def test_special_characters_in_cloud_init_values_are_quoted(word: str) -> None:
    text = render_user_data(CloudInit(user=word, password=word, ssh_keys=(word,)))
    assert yaml.safe_load(text) == {
        "user": word,
        "password": word,
        "chpasswd": {"expire": False},
        "ssh_authorized_keys": [word],
    }


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        ([""], ()),
        (["a", "b"], ("a", "b")),
        (["a,b"], ("a", "b")),
        (['"a,b",c'], ("a,b", "c")),
        (["a\nb\n"], ("a", "b")),
    ],
)
def test_ssh_keys_are_separated_by_commas_and_newlines(texts: list[str], keys: tuple[str, ...]) -> None:
    assert read_keys(texts) == keys


def test_ssh_keys_with_unbalanced_quotes_are_rejected() -> None:
    with pytest.raises(ParameterError):
        read_keys(['"a'])


def test_cloud_init_kind_none_adds_no_volume() -> None:
    assert build_cloud_init(CloudInit(kind="none", user="u")) is None


@pytest.mark.parametrize("flag", ["--cloud-init-user-data", "--cloud-init-network-data"])
def test_cloud_init_data_that_is_not_base64_causes_a_warning(flag: str) -> None:
    assert f"warning: {flag}: the value is not base64" in call_virtctl("create", "vm", f"{flag}=#cloud-config").err
    assert "base64" not in call_virtctl("create", "vm", f"{flag}=dXNlcjog\nYQ==\n").err


def test_cloud_init_flags_without_effect_cause_a_warning() -> None:
    assert (
        "--cloud-init=none: the other cloud-init flags"
        in call_virtctl("create", "vm", "--cloud-init=none", "--user=u").err
    )
    assert call_virtctl("create", "vm", "--cloud-init=none").err == ""
