"""Build the cloud-init volume of a new VM: user, password and SSH keys."""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from virtshape.api.kubevirt.volume import CloudInitConfigDriveSource, CloudInitNoCloudSource, Volume
from virtshape.cli.create.parameters import ParameterError

NAME = "cloudinitdisk"
_HEADER = "#cloud-config"
_ALLOW_AGENT = "runcmd:\n  - [ setsebool, -P, 'virt_qemu_ga_manage_ssh', 'on' ]"


@dataclass(frozen=True)
class CloudInit:
    """The cloud-init flags; None or empty for a flag that was not given."""

    kind: str | None = None
    user: str | None = None
    password: str | None = None
    ssh_keys: tuple[str, ...] = ()
    ga_manage_ssh: bool | None = None
    user_data: str | None = None
    network_data: str | None = None


def build_cloud_init(wanted: CloudInit) -> Volume | None:
    """Return the cloud-init volume; None if it is disabled, or if neither a kind nor data was given."""
    if wanted.kind == "none":
        return None
    user_data = None if wanted.user_data else render_user_data(wanted)
    if wanted.kind is None and user_data == _HEADER and not wanted.network_data:
        return None
    if wanted.kind == "configDrive":
        drive = CloudInitConfigDriveSource(
            user_data=user_data,
            user_data_base64=wanted.user_data or None,
            network_data_base64=wanted.network_data or None,
        )
        return Volume(name=NAME, cloud_init_config_drive=drive)
    cloud = CloudInitNoCloudSource(
        user_data=user_data,
        user_data_base64=wanted.user_data or None,
        network_data_base64=wanted.network_data or None,
    )
    return Volume(name=NAME, cloud_init_no_cloud=cloud)


def render_user_data(wanted: CloudInit) -> str:
    """Return the user data that sets up the user."""
    lines = [_HEADER]
    if wanted.user:
        lines.append(f"user: {_write_scalar(wanted.user)}")
    if wanted.password:
        lines += [f"password: {_write_scalar(wanted.password)}", "chpasswd: { expire: False }"]
    if wanted.ssh_keys:
        lines += ["ssh_authorized_keys:", *(f"  - {_write_scalar(key)}" for key in wanted.ssh_keys)]
    if wanted.ga_manage_ssh:
        lines.append(_ALLOW_AGENT)
    return "\n".join(lines)


def read_keys(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse keys separated by commas; quotes protect a comma inside a key."""
    try:
        return tuple(key for text in texts for row in csv.reader(text.splitlines(), strict=True) for key in row)
    except csv.Error as error:
        raise ParameterError(f"invalid quotes: {error}") from None


def read_password(path: str) -> str:
    """Return the content of a password file, without white space at its start and end."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ParameterError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text") from None


def _write_scalar(text: str) -> str:
    """Return the text as a YAML scalar, quoted if YAML would otherwise read it as another value."""
    import yaml  # imported here, because the import slows down start-up

    try:
        plain = yaml.safe_load(f"- {text}") == [text]
    except yaml.YAMLError:
        plain = False
    return text if plain else json.dumps(text, ensure_ascii=False)
