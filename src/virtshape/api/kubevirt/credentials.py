"""
Structs for access credentials: SSH keys and passwords from Secrets, which are set in a guest.

The structs refer to Secrets and never contain a credential.
"""

from virtshape.api.model import Model


class ConfigDriveSSHPublicKeyAccessCredentialPropagation(Model):
    """Writes the keys to the metadata of the VM's config drive (no settings)."""


class NoCloudSSHPublicKeyAccessCredentialPropagation(Model):
    """Writes the keys to the metadata of the VM's NoCloud disk (no settings)."""


class QemuGuestAgentSSHPublicKeyAccessCredentialPropagation(Model):
    """Lets the guest agent write the keys while the guest runs."""

    users: list[str]
    """Users of the guest whose `authorized_keys` receive the keys."""


class SSHPublicKeyAccessCredentialPropagationMethod(Model):
    """How SSH keys are set in the guest; exactly one field must be set."""

    no_cloud: NoCloudSSHPublicKeyAccessCredentialPropagation | None = None
    """`{}` passes the keys to cloud-init at first boot; needs a `cloudInitNoCloud` volume."""
    config_drive: ConfigDriveSSHPublicKeyAccessCredentialPropagation | None = None
    """`{}` passes the keys to cloud-init at first boot; needs a `cloudInitConfigDrive` volume."""
    qemu_guest_agent: QemuGuestAgentSSHPublicKeyAccessCredentialPropagation | None = None
    """Applies changes to the Secret while the guest runs; needs the QEMU guest agent in the guest."""


class AccessCredentialSecretSource(Model):
    """A Secret with credentials."""

    secret_name: str
    """Name of the Secret, in the VM's namespace."""


class SSHPublicKeyAccessCredentialSource(Model):
    """Source of SSH public keys."""

    secret: AccessCredentialSecretSource | None = None
    """Secret whose values are public keys; its key names do not matter."""


class SSHPublicKeyAccessCredential(Model):
    """SSH public keys for logins to the guest."""

    source: SSHPublicKeyAccessCredentialSource
    """Source of the keys."""
    propagation_method: SSHPublicKeyAccessCredentialPropagationMethod
    """How the keys are set in the guest."""


class QemuGuestAgentUserPasswordAccessCredentialPropagation(Model):
    """Lets the guest agent set the passwords while the guest runs (no settings)."""


class UserPasswordAccessCredentialPropagationMethod(Model):
    """How passwords are set in the guest."""

    qemu_guest_agent: QemuGuestAgentUserPasswordAccessCredentialPropagation | None = None
    """`{}` sets the passwords in the running guest; needs the QEMU guest agent in the guest."""


class UserPasswordAccessCredentialSource(Model):
    """Source of passwords."""

    secret: AccessCredentialSecretSource | None = None
    """Secret whose keys are user names of the guest and whose values are their passwords."""


class UserPasswordAccessCredential(Model):
    """Passwords of users of the guest."""

    source: UserPasswordAccessCredentialSource
    """Source of the passwords."""
    propagation_method: UserPasswordAccessCredentialPropagationMethod
    """How the passwords are set in the guest."""


class AccessCredential(Model):
    """Credentials for the guest: either SSH keys or passwords."""

    ssh_public_key: SSHPublicKeyAccessCredential | None = None
    """SSH public keys. Mutually exclusive with `userPassword`."""
    user_password: UserPasswordAccessCredential | None = None
    """Passwords of existing users. Mutually exclusive with `sshPublicKey`."""
