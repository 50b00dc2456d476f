"""Validate access credentials: each must have one type, one source and one propagation method."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import list_members
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.credentials import (
    AccessCredential,
    SSHPublicKeyAccessCredential,
    SSHPublicKeyAccessCredentialPropagationMethod,
    UserPasswordAccessCredential,
)
from virtshape.api.kubevirt.volume import Volume

_METHODS: Final = list_members(SSHPublicKeyAccessCredentialPropagationMethod)


def check_credentials(
    credentials: Sequence[AccessCredential], volumes: Sequence[Volume], at: str
) -> Iterator[FieldError]:
    """Check the type, source and propagation method of each access credential; `at` is the field path of the list."""
    for index, credential in enumerate(credentials):
        keys, passwords = credential.ssh_public_key, credential.user_password
        if (keys is None) == (passwords is None):
            reason = (
                "has sshPublicKey and userPassword: keep one of them" if keys else "add sshPublicKey or userPassword"
            )
            message = f"{at}[{index}] must have exactly one access credential type set: {reason}"
            yield FieldError(f"{at}[{index}]", message, rule="one-of")
        if keys is not None:
            yield from _check_source(keys, f"{at}[{index}]", "sshPublicKey")
            yield from _check_methods(keys.propagation_method, volumes, f"{at}[{index}]")
        if passwords is not None:
            yield from _check_source(passwords, f"{at}[{index}]", "userPassword")
            if passwords.propagation_method.qemu_guest_agent is None:
                message = f"{at}[{index}] must have exactly one propagationMethod set: add qemuGuestAgent"
                yield FieldError(f"{at}[{index}].userPassword.propagationMethod", message, rule="one-of")


def _check_source(
    credential: SSHPublicKeyAccessCredential | UserPasswordAccessCredential, at: str, name: str
) -> Iterator[FieldError]:
    secret = credential.source.secret
    if secret is None or not secret.secret_name:
        message = f"{at} must have exactly one source set: add secret.secretName"
        yield FieldError(f"{at}.{name}.source", message, rule="one-of")


def _check_methods(
    method: SSHPublicKeyAccessCredentialPropagationMethod, volumes: Sequence[Volume], at: str
) -> Iterator[FieldError]:
    field = f"{at}.sshPublicKey.propagationMethod"
    if method.no_cloud is not None and all(volume.cloud_init_no_cloud is None for volume in volumes):
        reason = "requires a noCloud volume to exist when the noCloud propagationMethod is in use"
        yield FieldError(field, f"{at} {reason}: add a volume with cloudInitNoCloud", rule="impossible-combination")
    if method.config_drive is not None and all(volume.cloud_init_config_drive is None for volume in volumes):
        reason = "requires a configDrive volume to exist when the configDrive propagationMethod is in use"
        yield FieldError(field, f"{at} {reason}: add a volume with cloudInitConfigDrive", rule="impossible-combination")
    if method.qemu_guest_agent is not None and not method.qemu_guest_agent.users:
        message = f"{at} requires at least one user to be present in the users list"
        yield FieldError(f"{field}.qemuGuestAgent.users", message, rule="invalid-value")
    present = _METHODS.list_present(method)
    if len(present) != 1:
        reason = f"it has {' and '.join(present)}" if present else f"add one of {', '.join(_METHODS.names)}"
        yield FieldError(field, f"{at} must have exactly one propagationMethod set: {reason}", rule="one-of")
