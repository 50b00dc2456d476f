"""
The flags of `create vm`: their names, their help, and what was given of them.

KubeVirt's flags, and `--vcpus`. What they mean together is decided elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from virtshape.cli.command import OneOf, WholeNumber, switch
from virtshape.cli.connection import stated_namespace
from virtshape.cli.create.imports import OLDER_FLAGS
from virtshape.cli.create.matchers import Wish

F = TypeVar("F", bound=Callable[..., Any])

DISK = "src:NAME[,name:NAME][,bootorder:N]"
IMPORT_HELP = """Add a volume that is filled before the VM first starts. May be given several times.
All types take name and bootorder.

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
    """What was given; None or empty is what was not."""

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
        """The flags that were given a value, even an empty one."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {_spell(name) for name, value in values.items() if value is not None and value != ()}

    @property
    def older_imports(self) -> dict[str, tuple[str, ...]]:
        """The values of the flags that --volume-import replaced."""
        return {flag: getattr(self, flag.removeprefix("--").replace("-", "_")) for flag in OLDER_FLAGS}

    @property
    def instancetype_wish(self) -> Wish:
        """What was asked for about the instance type."""
        return Wish(self.instancetype, self.infer_instancetype, self.infer_instancetype_from)

    @property
    def preference_wish(self) -> Wish:
        """What was asked for about the preference."""
        return Wish(self.preference, self.infer_preference, self.infer_preference_from)


def _spell(name: str) -> str:
    return "--" + name.replace("_", "-")


def _repeated(name: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(name, multiple=True, **attributes)


_OPTIONS = [
    click.option("--name", help="The VM's name; random if not given."),
    click.option("-n", "--namespace", default=stated_namespace, help="The namespace to write into the manifest."),
    click.option(
        "--run-strategy",
        type=OneOf("Always", "Manual", "Halted", "Once", "RerunOnFailure"),
        default="Always",
        show_default=True,
        help="When the VM runs.",
    ),
    click.option(
        "--termination-grace-period",
        type=WholeNumber(-(2**63), 2**63 - 1),
        default=180,
        show_default=True,
        help="Seconds that the guest has to shut down.",
    ),
    click.option(
        "--memory", metavar="QUANTITY", help="Memory of the VM; 512Mi if nothing else gives it. No instance type then."
    ),
    click.option(
        "--vcpus",
        type=WholeNumber(1, 2**32 - 1),
        help="vCPUs of the VM. With --memory also beside an instance type that leaves the size to the VM.",
    ),
    click.option("--instancetype", metavar="[KIND/]NAME", help="The instance type; cluster-wide if no kind is given."),
    switch("--infer-instancetype", help="Infer the instance type from the volume that boots first, or do not."),
    click.option("--infer-instancetype-from", metavar="VOLUME", help="Infer the instance type from this volume."),
    click.option("--preference", metavar="[KIND/]NAME", help="The preference; cluster-wide if no kind is given."),
    switch("--infer-preference", help="Infer the preference from the volume that boots first, or do not."),
    click.option("--infer-preference-from", metavar="VOLUME", help="Infer the preference from this volume."),
    _repeated("--volume-containerdisk", metavar="src:IMAGE[,name:NAME][,bootorder:N]", help="Add a container disk."),
    _repeated("--volume-pvc", metavar=DISK, help="Add a PVC of the VM's namespace."),
    _repeated("--volume-import", metavar="type:TYPE,...", help=IMPORT_HELP),
    click.option(
        "--volume-sysprep",
        metavar="src:NAME[,type:configmap|secret]",
        help="Add the ConfigMap or Secret with an answer file for Windows.",
    ),
    click.option("--user", help="The user that cloud-init sets up."),
    click.option(
        "--password-file",
        metavar="FILE",
        type=click.Path(),
        help="File with the user's password. It will stand in the VM in clear text.",
    ),
    _repeated("--ssh-key", metavar="KEY[,KEY...]", help="Public key of the user, for cloud-init."),
    switch("--ga-manage-ssh", help="Let the guest agent write SSH keys, under SELinux too."),
    _repeated(
        "--access-cred",
        metavar="src:SECRET[,type:ssh|password][,method:ga|nocloud|configdrive][,user:USER]",
        help="Give the guest SSH keys or passwords from a Secret. May be given several times.",
    ),
    click.option(
        "--cloud-init",
        type=OneOf("noCloud", "configDrive", "none"),
        help="What cloud-init reads its data from; noCloud if there is any.",
    ),
    click.option("--cloud-init-user-data", metavar="BASE64", help="User data for cloud-init, complete."),
    click.option("--cloud-init-network-data", metavar="BASE64", help="Network data for cloud-init."),
    _repeated("--volume-datasource", metavar=DISK, help="Deprecated: use --volume-import type:ds."),
    _repeated("--volume-clone-pvc", metavar=DISK, help="Deprecated: use --volume-import type:pvc."),
    _repeated("--volume-blank", metavar="size:QUANTITY", help="Deprecated: use --volume-import type:blank."),
]


def vm_options(function: F) -> F:
    """Give a command all flags of `create vm`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
