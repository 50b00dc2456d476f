from virtshape.api.model import Model


class ConfigDriveSSHPublicKeyAccessCredentialPropagation(Model):
    pass


class NoCloudSSHPublicKeyAccessCredentialPropagation(Model):
    pass


class QemuGuestAgentSSHPublicKeyAccessCredentialPropagation(Model):
    users: list[str]


class SSHPublicKeyAccessCredentialPropagationMethod(Model):
    config_drive: ConfigDriveSSHPublicKeyAccessCredentialPropagation | None = None
    no_cloud: NoCloudSSHPublicKeyAccessCredentialPropagation | None = None
    qemu_guest_agent: QemuGuestAgentSSHPublicKeyAccessCredentialPropagation | None = None


class AccessCredentialSecretSource(Model):
    secret_name: str


class SSHPublicKeyAccessCredentialSource(Model):
    secret: AccessCredentialSecretSource | None = None


class SSHPublicKeyAccessCredential(Model):
    propagation_method: SSHPublicKeyAccessCredentialPropagationMethod
    source: SSHPublicKeyAccessCredentialSource


class QemuGuestAgentUserPasswordAccessCredentialPropagation(Model):
    pass


class UserPasswordAccessCredentialPropagationMethod(Model):
    qemu_guest_agent: QemuGuestAgentUserPasswordAccessCredentialPropagation | None = None


class UserPasswordAccessCredentialSource(Model):
    secret: AccessCredentialSecretSource | None = None


class UserPasswordAccessCredential(Model):
    propagation_method: UserPasswordAccessCredentialPropagationMethod
    source: UserPasswordAccessCredentialSource


class AccessCredential(Model):
    ssh_public_key: SSHPublicKeyAccessCredential | None = None
    user_password: UserPasswordAccessCredential | None = None
