"""Access credentials of a new VM: Secrets with SSH keys or passwords for the guest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from virtshape.api.kubevirt.credentials import (
    AccessCredential,
    AccessCredentialSecretSource,
    ConfigDriveSSHPublicKeyAccessCredentialPropagation,
    NoCloudSSHPublicKeyAccessCredentialPropagation,
    QemuGuestAgentSSHPublicKeyAccessCredentialPropagation,
    QemuGuestAgentUserPasswordAccessCredentialPropagation,
    SSHPublicKeyAccessCredential,
    SSHPublicKeyAccessCredentialPropagationMethod,
    SSHPublicKeyAccessCredentialSource,
    UserPasswordAccessCredential,
    UserPasswordAccessCredentialPropagationMethod,
    UserPasswordAccessCredentialSource,
)
from virtshape.cli.create.cloudinit import CloudInit
from virtshape.cli.create.parameters import ParameterError, parse_parameters, required
from virtshape.cli.create.problems import Problems
from virtshape.cli.create.volumes import read_local_name


@dataclass(frozen=True)
class CredentialParameters:
    """Parameters of one access credential."""

    src: str = required()
    type: str | None = None
    method: str | None = None
    user: str | None = None


def read_credentials(
    texts: Sequence[str], cloud_init: CloudInit, problems: Problems
) -> tuple[list[AccessCredential], CloudInit]:
    """Parse all credentials; return them and the cloud-init settings that they require."""
    credentials = []
    for text in texts:
        with problems.collect("--access-cred"):
            credential, cloud_init = _read_credential(parse_parameters(text, CredentialParameters), cloud_init)
            credentials.append(credential)
    return credentials, cloud_init


def _read_credential(parameters: CredentialParameters, cloud_init: CloudInit) -> tuple[AccessCredential, CloudInit]:
    secret = AccessCredentialSecretSource(secret_name=read_local_name(parameters.src, "Secret"))
    match (parameters.type or "ssh").lower():
        case "ssh":
            method, cloud_init = _choose_ssh_method(parameters, cloud_init)
            key = SSHPublicKeyAccessCredential(
                source=SSHPublicKeyAccessCredentialSource(secret=secret), propagation_method=method
            )
            return AccessCredential(ssh_public_key=key), cloud_init
        case "password":
            _validate_password_method(parameters)
            agent = QemuGuestAgentUserPasswordAccessCredentialPropagation()
            password = UserPasswordAccessCredential(
                source=UserPasswordAccessCredentialSource(secret=secret),
                propagation_method=UserPasswordAccessCredentialPropagationMethod(qemu_guest_agent=agent),
            )
            return AccessCredential(user_password=password), cloud_init
        case _:
            raise ParameterError(f'type: invalid value "{parameters.type}": must be ssh or password')


def _choose_ssh_method(
    parameters: CredentialParameters, cloud_init: CloudInit
) -> tuple[SSHPublicKeyAccessCredentialPropagationMethod, CloudInit]:
    match (parameters.method or "ga").lower():
        case "ga":
            user = parameters.user or cloud_init.user
            if not user:
                raise ParameterError(
                    "user is required, here or with --user: the guest agent writes the keys of this user"
                )
            agent = QemuGuestAgentSSHPublicKeyAccessCredentialPropagation(users=[user])
            if cloud_init.ga_manage_ssh is None:
                cloud_init = replace(cloud_init, ga_manage_ssh=True)
            return SSHPublicKeyAccessCredentialPropagationMethod(qemu_guest_agent=agent), cloud_init
        case "nocloud":
            no_cloud = NoCloudSSHPublicKeyAccessCredentialPropagation()
            cloud_init = _require_cloud_init("noCloud", parameters, cloud_init)
            return SSHPublicKeyAccessCredentialPropagationMethod(no_cloud=no_cloud), cloud_init
        case "configdrive":
            config_drive = ConfigDriveSSHPublicKeyAccessCredentialPropagation()
            cloud_init = _require_cloud_init("configDrive", parameters, cloud_init)
            return SSHPublicKeyAccessCredentialPropagationMethod(config_drive=config_drive), cloud_init
        case _:
            raise ParameterError(f'method: invalid value "{parameters.method}": must be ga, nocloud or configdrive')


def _require_cloud_init(kind: str, parameters: CredentialParameters, cloud_init: CloudInit) -> CloudInit:
    problems = []
    if parameters.user:
        problems.append(f"user: not supported with {kind}; only method ga uses it")
    if cloud_init.kind not in (None, kind):
        problems.append(f"method: {parameters.method} conflicts with --cloud-init {cloud_init.kind}")
    if problems:
        raise ParameterError(*problems)
    return replace(cloud_init, kind=kind)


def _validate_password_method(parameters: CredentialParameters) -> None:
    problems = []
    if parameters.method and parameters.method.lower() != "ga":
        problems.append(f'method: invalid value "{parameters.method}": passwords require ga')
    if parameters.user:
        problems.append("user: not supported with passwords; the Secret contains the users")
    if problems:
        raise ParameterError(*problems)
