"""
Structs of access credentials: SSH keys and passwords from Secrets, set in a guest.

The structs refer to Secrets and never contain a credential.
"""

from virtshape.api.model import Model


class ConfigDriveSSHPublicKeyAccessCredentialPropagation(Model):
    """Put the keys into the metadata of the VM's config drive; has no settings."""


class NoCloudSSHPublicKeyAccessCredentialPropagation(Model):
    """Put the keys into the metadata of the VM's NoCloud disk; has no settings."""


class QemuGuestAgentSSHPublicKeyAccessCredentialPropagation(Model):
    """Let the guest agent write the keys while the guest runs."""

    users: list[str]
    """Users of the guest whose `authorized_keys` receive the keys."""


class SSHPublicKeyAccessCredentialPropagationMethod(Model):
    """How SSH keys reach the guest: exactly one way."""

    no_cloud: NoCloudSSHPublicKeyAccessCredentialPropagation | None = None
    """`{}` sends them by cloud-init at first boot; needs a `cloudInitNoCloud` volume."""
    config_drive: ConfigDriveSSHPublicKeyAccessCredentialPropagation | None = None
    """`{}` sends them by cloud-init at first boot; needs a `cloudInitConfigDrive` volume."""
    qemu_guest_agent: QemuGuestAgentSSHPublicKeyAccessCredentialPropagation | None = None
    """Follows changes of the Secret while the guest runs; needs the QEMU guest agent in it."""


class AccessCredentialSecretSource(Model):
    """A Secret that holds credentials."""

    secret_name: str
    """The Secret to read, in the VM's namespace."""


class SSHPublicKeyAccessCredentialSource(Model):
    """Where SSH public keys are kept."""

    secret: AccessCredentialSecretSource | None = None
    """Secret whose values are public keys; its key names do not matter."""


class SSHPublicKeyAccessCredential(Model):
    """SSH public keys that may log in to the guest."""

    source: SSHPublicKeyAccessCredentialSource
    """Where the keys are kept."""
    propagation_method: SSHPublicKeyAccessCredentialPropagationMethod
    """How the keys reach the guest."""


class QemuGuestAgentUserPasswordAccessCredentialPropagation(Model):
    """Let the guest agent set the passwords while the guest runs; has no settings."""


class UserPasswordAccessCredentialPropagationMethod(Model):
    """How passwords reach the guest."""

    qemu_guest_agent: QemuGuestAgentUserPasswordAccessCredentialPropagation | None = None
    """`{}` sets them in the running guest; needs the QEMU guest agent in it."""


class UserPasswordAccessCredentialSource(Model):
    """Where passwords are kept."""

    secret: AccessCredentialSecretSource | None = None
    """Secret whose keys are user names of the guest and whose values are their passwords."""


class UserPasswordAccessCredential(Model):
    """Passwords of users of the guest."""

    source: UserPasswordAccessCredentialSource
    """Where the passwords are kept."""
    propagation_method: UserPasswordAccessCredentialPropagationMethod
    """How the passwords reach the guest."""


class AccessCredential(Model):
    """A means to log in to the guest: exactly one of keys and passwords."""

    ssh_public_key: SSHPublicKeyAccessCredential | None = None
    """SSH public keys. Excludes `userPassword`."""
    user_password: UserPasswordAccessCredential | None = None
    """Passwords of existing users. Excludes `sshPublicKey`."""
