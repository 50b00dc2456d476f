"""Structs for security contexts of pods and containers."""

from virtshape.api.model import Model


class AppArmorProfile(Model):
    """An AppArmor profile."""

    type: str
    """Type of the profile: `Localhost`, `RuntimeDefault` or `Unconfined`."""
    localhost_profile: str | None = None
    """Name of a profile on the node."""


class Capabilities(Model):
    """Kernel capabilities to add and drop."""

    add: list[str] | None = None
    """Kernel capabilities to add."""
    drop: list[str] | None = None
    """Kernel capabilities to drop."""


class SELinuxOptions(Model):
    """An SELinux label."""

    type: str | None = None
    """Type of the label."""
    level: str | None = None
    """Level of the label."""
    role: str | None = None
    """Role of the label."""
    user: str | None = None
    """User of the label."""


class SeccompProfile(Model):
    """A seccomp profile."""

    type: str
    """Type of the profile: `Localhost`, `RuntimeDefault` or `Unconfined`."""
    localhost_profile: str | None = None
    """Path of the profile's file on the node."""


class WindowsSecurityContextOptions(Model):
    """Settings for Windows."""

    gmsa_credential_spec: str | None = None
    """The credentials of the group managed service account."""
    gmsa_credential_spec_name: str | None = None
    """Name of the credentials of the group managed service account."""
    host_process: bool | None = None
    """Whether the container runs as a host process."""
    run_as_user_name: str | None = None
    """Name of the user that the container runs as."""


class SecurityContext(Model):
    """Security settings of a container."""

    allow_privilege_escalation: bool | None = None
    """Whether a process may gain more privileges than its parent."""
    app_armor_profile: AppArmorProfile | None = None
    """AppArmor profile of the container."""
    capabilities: Capabilities | None = None
    """The kernel capabilities to add and drop."""
    privileged: bool | None = None
    """Whether the container is privileged."""
    proc_mount: str | None = None
    """How `/proc` is mounted: `Default` or `Unmasked`."""
    read_only_root_filesystem: bool | None = None
    """Whether the container's root file system is read-only."""
    run_as_group: int | None = None
    """ID of the group that the container runs as."""
    run_as_non_root: bool | None = None
    """Whether running as root is rejected."""
    run_as_user: int | None = None
    """ID of the user that the container runs as."""
    se_linux_options: SELinuxOptions | None = None
    """SELinux label of the container."""
    seccomp_profile: SeccompProfile | None = None
    """Seccomp profile of the container."""
    windows_options: WindowsSecurityContextOptions | None = None
    """Security settings for Windows containers."""


class Sysctl(Model):
    """A kernel setting."""

    name: str
    """Name of the setting."""
    value: str
    """Value of the setting."""


class PodSecurityContext(Model):
    """Security settings for all containers of a pod."""

    app_armor_profile: AppArmorProfile | None = None
    """AppArmor profile of the containers."""
    fs_group: int | None = None
    """ID of the group that owns the volumes."""
    fs_group_change_policy: str | None = None
    """When the group of a volume's files is changed: `OnRootMismatch` or `Always`."""
    run_as_group: int | None = None
    """ID of the group that the containers run as."""
    run_as_non_root: bool | None = None
    """Whether running as root is rejected."""
    run_as_user: int | None = None
    """ID of the user that the containers run as."""
    se_linux_change_policy: str | None = None
    """How volumes are labelled: `MountOption` or `Recursive`."""
    se_linux_options: SELinuxOptions | None = None
    """SELinux label of the containers."""
    seccomp_profile: SeccompProfile | None = None
    """Seccomp profile of the containers."""
    supplemental_groups: list[int] | None = None
    """IDs of the supplementary groups of the processes."""
    supplemental_groups_policy: str | None = None
    """Whether the user's groups in the image are added (`Merge`) or not (`Strict`)."""
    sysctls: list[Sysctl] | None = None
    """Kernel settings of the pod."""
    windows_options: WindowsSecurityContextOptions | None = None
    """Security settings for Windows containers."""
