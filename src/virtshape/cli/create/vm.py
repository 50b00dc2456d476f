"""
`virtctl create vm`: print a VirtualMachine built from flags.

Without a size or an instance type, the instance type is inferred from the first boot volume, if possible.
"""

import base64
import re
import sys
from typing import Any

import click

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import (
    InstancetypeMatcher,
    PreferenceMatcher,
    VirtualMachine,
    VirtualMachineInstanceTemplateSpec,
    VirtualMachineSpec,
)
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.cli.command import Command, Example
from virtshape.cli.connection import current_target
from virtshape.cli.create.cloudinit import CloudInit, build_cloud_init, read_keys, read_password
from virtshape.cli.create.credentials import read_credentials
from virtshape.cli.create.flags import VMFlags, vm_options
from virtshape.cli.create.imports import OLDER_FLAGS, add_import, gather_imports
from virtshape.cli.create.matchers import Matcher, infer_matcher, read_matcher
from virtshape.cli.create.parameters import ParameterError, read_quantity
from virtshape.cli.create.problems import Problems
from virtshape.cli.create.scope import random_name
from virtshape.cli.create.volumes import Volumes, add_container_disk, add_pvc, add_sysprep
from virtshape.cli.errors import warn
from virtshape.cli.output import output_option, print_object

DEFAULT_MEMORY = Quantity("512Mi")
INSTANCETYPE_KINDS = ("virtualmachineinstancetype", "virtualmachineclusterinstancetype")
GENERATED_USER_DATA = ("--user", "--password-file", "--ssh-key", "--ga-manage-ssh")
CLOUD_INIT_CONTENT = {*GENERATED_USER_DATA, "--cloud-init-user-data", "--cloud-init-network-data"}
PREFERENCE_KINDS = ("virtualmachinepreference", "virtualmachineclusterpreference")


@click.command(
    "vm",
    cls=Command,
    examples=[
        Example(
            "Use an instance type, a preference and a container disk",
            "virtctl create vm --name web --instancetype u1.medium --preference fedora "
            "--volume-containerdisk src:registry.example/fedora:latest",
        ),
        Example(
            "Infer instance type and preference from a DataSource; fail if not possible",
            "virtctl create vm --volume-import type:ds,src:images/fedora --infer-instancetype --infer-preference",
        ),
        Example(
            "Use a namespaced instance type, a cloned PVC and a blank disk",
            "virtctl create vm --instancetype virtualmachineinstancetype/small "
            "--volume-import type:pvc,src:images/debian --volume-import type:blank,size:50Gi",
        ),
        Example(
            "Set the size for an instance type that leaves it to each VM",
            "virtctl create vm --instancetype cx1.custom --vcpus 4 --memory 4Gi --volume-pvc src:root",
        ),
        Example(
            "Create a user with an SSH key",
            'virtctl create vm --memory 2Gi --volume-pvc src:root --user me --ssh-key "$(cat ~/.ssh/id_ed25519.pub)"',
        ),
        Example(
            "Create the VM in the cluster", "virtctl create vm --memory 1Gi --volume-pvc src:root | kubectl create -f -"
        ),
    ],
)
@vm_options
@output_option
def command(output: str, **given: Any) -> None:
    """
    Print a VirtualMachine.

    Without bootorder, volumes boot in this order: container disks, PVCs, blank volumes, cloned PVCs,
    DataSources, imports.

    With --instancetype, the flags --vcpus and --memory set the sizes that the instance type leaves to each VM. The
    sizes are checked against the limits of the instance type on the server, or in the built-in catalog if no server is
    configured.

    If the output is a terminal and a server is configured, instance types and preferences that are deprecated or
    retired there cause a warning.
    """
    flags = VMFlags(**given)
    problems = Problems()
    instancetype = find_instancetype_of_sizes(flags)
    vm = build_vm(flags, problems, instancetype)
    problems.raise_all()
    if instancetype is not None:
        from virtshape.cli.create.sizelimits import validate_size

        validate_size(vm, instancetype)
    print_warnings(flags, vm)
    if sys.stdout.isatty():
        warn_of_lifecycle(vm)
    print_object(vm, output)


def warn_of_lifecycle(vm: VirtualMachine) -> None:
    """Warn about objects that are deprecated or retired on the server."""
    from virtshape.cli.create.lifecycle import check_named_objects  # needed only if the output is a terminal

    for problem in check_named_objects(current_target(click.get_current_context()), vm):
        warn(problem.message)


def find_instancetype_of_sizes(flags: VMFlags) -> VirtualMachineInstancetypeSpec | None:
    """Return the instance type that --vcpus or --memory is used with; None if there is none, or it is not found."""
    if flags.instancetype is None or (flags.vcpus is None and flags.memory is None):
        return None
    # Imported here, because most calls do not need a connection.
    from virtshape.cli.create.sizelimits import find_instancetype

    try:
        matcher = read_matcher(flags.instancetype, INSTANCETYPE_KINDS)
    except ParameterError:
        return None  # build_vm reports the error
    target = current_target(click.get_current_context())
    return find_instancetype(matcher, target._replace(namespace=flags.namespace or ""))


def build_vm(
    flags: VMFlags, problems: Problems, size_of: VirtualMachineInstancetypeSpec | None = None
) -> VirtualMachine:
    """Build the VM; it is valid only if no problems were found. `size_of` is the instance type, if it is known."""
    check_exclusive(flags, problems, size_of)
    name = flags.name or random_name("vm")
    volumes = gather_volumes(flags, name, problems)
    credentials, cloud_init = read_credentials(flags.access_cred, collect_cloud_init(flags, problems), problems)
    disk = build_cloud_init(cloud_init)
    if disk is not None:
        with problems.collect("cloud-init"):
            volumes.add(disk)
    instancetype, preference = gather_matchers(flags, volumes, problems)
    domain = DomainSpec(
        cpu=CPU(guest=flags.vcpus) if flags.vcpus else None,
        memory=choose_memory(flags, problems),
        devices=Devices(disks=volumes.disks or None),
    )
    template = VirtualMachineInstanceSpec(
        domain=domain,
        access_credentials=credentials or None,
        termination_grace_period_seconds=flags.termination_grace_period,
        volumes=volumes.volumes or None,
    )
    return VirtualMachine(
        api_version="kubevirt.io/v1",
        kind="VirtualMachine",
        metadata=ObjectMeta(name=name, namespace=flags.namespace or None),
        spec=VirtualMachineSpec(
            run_strategy=flags.run_strategy,
            instancetype=InstancetypeMatcher(**instancetype._asdict()) if instancetype else None,
            preference=PreferenceMatcher(**preference._asdict()) if preference else None,
            data_volume_templates=volumes.templates or None,
            template=VirtualMachineInstanceTemplateSpec(spec=template),
        ),
    )


def check_exclusive(flags: VMFlags, problems: Problems, size_of: VirtualMachineInstancetypeSpec | None) -> None:
    """Report flags that were given together although they are mutually exclusive."""
    sizes = ["--instancetype", "--infer-instancetype", "--infer-instancetype-from"]
    leaves_memory = size_of is not None and (size_of.memory is None or size_of.memory.guest is None)
    if flags.vcpus is None and not leaves_memory:  # with --vcpus, the size is checked later
        sizes.insert(0, "--memory")
    problems.check_exclusive(flags.given, sizes)
    problems.check_exclusive(flags.given, ["--preference", "--infer-preference", "--infer-preference-from"])
    for flag in GENERATED_USER_DATA:
        problems.check_exclusive(flags.given, ["--cloud-init-user-data", flag])


def gather_volumes(flags: VMFlags, vm_name: str, problems: Problems) -> Volumes:
    """Collect the volumes in boot order."""
    volumes = Volumes()
    for number, text in enumerate(flags.volume_containerdisk):
        with problems.collect("--volume-containerdisk"):
            add_container_disk(volumes, text, f"{vm_name}-containerdisk-{number}")
    for text in flags.volume_pvc:
        with problems.collect("--volume-pvc"):
            add_pvc(volumes, text)
    for flag, text in gather_imports(flags.volume_import, flags.older_imports):
        with problems.collect(flag):
            add_import(volumes, text)
    if flags.volume_sysprep is not None:
        with problems.collect("--volume-sysprep"):
            add_sysprep(volumes, flags.volume_sysprep)
    return volumes


def gather_matchers(flags: VMFlags, volumes: Volumes, problems: Problems) -> tuple[Matcher | None, Matcher | None]:
    """Return the matchers of the given or inferred instance type and preference."""
    instancetype = preference = None
    if flags.instancetype is not None:
        with problems.collect("--instancetype"):
            instancetype = read_matcher(flags.instancetype, INSTANCETYPE_KINDS)
    if flags.preference is not None:
        with problems.collect("--preference"):
            preference = read_matcher(flags.preference, PREFERENCE_KINDS)
    if problems:  # a volume that failed to parse is not also reported as missing
        return None, None
    has_size = flags.memory is not None or flags.vcpus is not None
    if not has_size or flags.instancetype_flags.is_explicit_inference:
        with problems.collect("--infer-instancetype"):
            instancetype = infer_matcher(flags.instancetype_flags, volumes) or instancetype
    with problems.collect("--infer-preference"):
        preference = infer_matcher(flags.preference_flags, volumes) or preference
    return instancetype, preference


def choose_memory(flags: VMFlags, problems: Problems) -> Memory | None:
    """Return the VM's own memory; None if an instance type provides it."""
    if flags.memory is not None:
        with problems.collect("--memory"):
            return Memory(guest=read_quantity(flags.memory))
    if flags.instancetype is not None or flags.instancetype_flags.is_explicit_inference:
        return None
    return Memory(guest=DEFAULT_MEMORY)


def collect_cloud_init(flags: VMFlags, problems: Problems) -> CloudInit:
    """Return the cloud-init settings that the flags specify."""
    keys: tuple[str, ...] = ()
    with problems.collect("--ssh-key"):
        keys = read_keys(flags.ssh_key)
    password = None
    if flags.password_file and flags.cloud_init != "none":
        with problems.collect("--password-file"):
            password = read_password(flags.password_file)
    return CloudInit(
        kind=flags.cloud_init,
        user=flags.user,
        password=password,
        ssh_keys=keys,
        ga_manage_ssh=flags.ga_manage_ssh,
        user_data=flags.cloud_init_user_data,
        network_data=flags.cloud_init_network_data,
    )


def print_warnings(flags: VMFlags, vm: VirtualMachine) -> None:
    """Warn about deprecated flags and possible mistakes."""
    for flag, kind in OLDER_FLAGS.items():
        if flag in flags.given:
            warn(f"{flag} is deprecated; use --volume-import type:{kind} with the same parameters")
    matcher = vm.spec.instancetype
    if matcher is not None and matcher.infer_from_volume_failure_policy == "Ignore":
        warn(
            f'no size is given: it is inferred from the volume "{matcher.infer_from_volume}", and if that fails '
            f"the VM has {DEFAULT_MEMORY} of memory; use --instancetype or --memory, or --infer-instancetype "
            "to fail instead"
        )
    elif flags.vcpus is not None and flags.memory is None and matcher is None:
        warn(f"no memory is given: the VM has {DEFAULT_MEMORY}; use --memory to change it")
    if flags.password_file:
        warn("--password-file: the password is stored in the VM in clear text")
    if flags.cloud_init == "none" and flags.given & CLOUD_INIT_CONTENT:
        warn("--cloud-init=none: the other cloud-init flags are ignored")
    for flag, data in (
        ("--cloud-init-user-data", flags.cloud_init_user_data),
        ("--cloud-init-network-data", flags.cloud_init_network_data),
    ):
        if data and not is_base64(data):
            warn(f"{flag}: the value is not base64 and the server will reject the VM; encode it with `base64 -w0`")


def is_base64(text: str) -> bool:
    """Return True if the text is valid base64."""
    try:
        base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except ValueError:
        return False
    return True
