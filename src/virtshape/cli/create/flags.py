"""The flags of `virtctl create vm`: KubeVirt's flags and `--vcpus`."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from virtshape.cli.command import Integer, OneOf, switch
from virtshape.cli.connection import global_namespace
from virtshape.cli.create.imports import OLDER_FLAGS
from virtshape.cli.create.matchers import MatcherFlags

F = TypeVar("F", bound=Callable[..., Any])

DISK = "src:NAME[,name:NAME][,bootorder:N]"
IMPORT_HELP = """Add a volume that is imported before the VM starts. Can be repeated.
All types accept name and bootorder.

\b
  type:blank     size
  type:ds        src ([NAMESPACE/]DATASOURCE), [size]
  type:gcs       size, url, [secretref]
  type:http      size, url, [secretref], [certconfigmap],
                 [extraheaders], [secretextraheaders] (separate several by ;)
  type:imageio   size, url, diskid, [secretref], [certconfigmap]
  type:pvc       src (NAMESPACE/PVC), [size]
  type:registry  size, url or imagestream, [pullmethod] (pod, node),
                 [secretref], [certconfigmap]
  type:s3        size, url, [secretref], [certconfigmap]
  type:snapshot  src (NAMESPACE/SNAPSHOT), [size]
  type:vddk      size, url, uuid, thumbprint, secretref, backingfile,
                 [initimageurl]
"""


@dataclass(frozen=True)
class VMFlags:
    """The parsed flags; None or empty for a flag that was not given and has no default."""

    name: str | None
    namespace: str | None
    run_strategy: str
    termination_grace_period: int
    vcpus: int | None
    memory: str | None
    instancetype: str | None
    infer_instancetype: bool | None
    infer_instancetype_from: str | None
    preference: str | None
    infer_preference: bool | None
    infer_preference_from: str | None
    volume_containerdisk: tuple[str, ...]
    volume_pvc: tuple[str, ...]
    volume_import: tuple[str, ...]
    volume_sysprep: str | None
    user: str | None
    password_file: str | None
    ssh_key: tuple[str, ...]
    ga_manage_ssh: bool | None
    access_cred: tuple[str, ...]
    cloud_init: str | None
    cloud_init_user_data: str | None
    cloud_init_network_data: str | None
    volume_datasource: tuple[str, ...]
    volume_clone_pvc: tuple[str, ...]
    volume_blank: tuple[str, ...]

    @property
    def given(self) -> set[str]:
        """The flags that have a value: those that were given, even if empty, and those with a default."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {_spell(name) for name, value in values.items() if value is not None and value != ()}

    @property
    def older_imports(self) -> dict[str, tuple[str, ...]]:
        """The values of the deprecated import flags."""
        return {flag: getattr(self, flag.removeprefix("--").replace("-", "_")) for flag in OLDER_FLAGS}

    @property
    def instancetype_flags(self) -> MatcherFlags:
        """The instance type flags."""
        return MatcherFlags(self.instancetype, self.infer_instancetype, self.infer_instancetype_from)

    @property
    def preference_flags(self) -> MatcherFlags:
        """The preference flags."""
        return MatcherFlags(self.preference, self.infer_preference, self.infer_preference_from)


def _spell(name: str) -> str:
    return "--" + name.replace("_", "-")


def _repeated(name: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(name, multiple=True, **attributes)


_OPTIONS = [
    click.option("--name", help="Name of the VM. [default: random]"),
    click.option("-n", "--namespace", default=global_namespace, help="Namespace in the manifest."),
    click.option(
        "--run-strategy",
        type=OneOf("Always", "Manual", "Halted", "Once", "RerunOnFailure"),
        default="Always",
        show_default=True,
        help="Run strategy of the VM.",
    ),
    click.option(
        "--termination-grace-period",
        type=Integer(-(2**63), 2**63 - 1),
        default=180,
        show_default=True,
        help="Seconds the guest may take to shut down.",
    ),
    click.option(
        "--memory", metavar="QUANTITY", help="Memory of the VM, if no instance type sets it. [default: 512Mi]"
    ),
    click.option(
        "--vcpus",
        type=Integer(1, 2**32 - 1),
        help="vCPUs of the VM. If an instance type leaves the size to each VM, use --vcpus and --memory.",
    ),
    click.option("--instancetype", metavar="[KIND/]NAME", help="Instance type; cluster-wide unless a kind is given."),
    switch("--infer-instancetype", help="Infer the instance type from the first boot volume."),
    click.option("--infer-instancetype-from", metavar="VOLUME", help="Infer the instance type from this volume."),
    click.option("--preference", metavar="[KIND/]NAME", help="Preference; cluster-wide unless a kind is given."),
    switch("--infer-preference", help="Infer the preference from the first boot volume."),
    click.option("--infer-preference-from", metavar="VOLUME", help="Infer the preference from this volume."),
    _repeated("--volume-containerdisk", metavar="src:IMAGE[,name:NAME][,bootorder:N]", help="Add a container disk."),
    _repeated("--volume-pvc", metavar=DISK, help="Add a PVC in the VM's namespace."),
    _repeated("--volume-import", metavar="type:TYPE,...", help=IMPORT_HELP),
    click.option(
        "--volume-sysprep",
        metavar="src:NAME[,type:configmap|secret]",
        help="Add a ConfigMap or Secret with a Windows answer file.",
    ),
    click.option("--user", help="User to create with cloud-init."),
    click.option(
        "--password-file",
        metavar="FILE",
        type=click.Path(),
        help="File with the user's password. It is stored in the VM in clear text.",
    ),
    _repeated("--ssh-key", metavar="KEY[,KEY...]", help="SSH public key of the user, for cloud-init."),
    switch("--ga-manage-ssh", help="Allow the guest agent to write SSH keys under SELinux."),
    _repeated(
        "--access-cred",
        metavar="src:SECRET[,type:ssh|password][,method:ga|nocloud|configdrive][,user:USER]",
        help="Add SSH keys or passwords from a Secret. Can be repeated.",
    ),
    click.option(
        "--cloud-init",
        type=OneOf("noCloud", "configDrive", "none"),
        help="Cloud-init data source. [default: noCloud if there is data]",
    ),
    click.option("--cloud-init-user-data", metavar="BASE64", help="Complete cloud-init user data."),
    click.option("--cloud-init-network-data", metavar="BASE64", help="Cloud-init network data."),
    _repeated("--volume-datasource", metavar=DISK, help="Deprecated: use --volume-import type:ds."),
    _repeated("--volume-clone-pvc", metavar=DISK, help="Deprecated: use --volume-import type:pvc."),
    _repeated("--volume-blank", metavar="size:QUANTITY", help="Deprecated: use --volume-import type:blank."),
]


def vm_options(function: F) -> F:
    """Add the flags of `create vm` to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
