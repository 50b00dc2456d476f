"""`virtctl credentials add-ssh-key` and `remove-ssh-key`: change the SSH keys of a user in a guest."""

import secrets
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.credentials.vmsecrets import (
    change_secret,
    choose_secret,
    force_option,
    get_secret,
    get_vm,
    list_credentials,
    list_ssh_secrets,
    require_ownership,
    secret_option,
    user_option,
)
from virtshape.cli.errors import ArgumentError, CommandError
from virtshape.cli.vm import parse_vm_name, vm_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from virtshape.api.core.config import Secret
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine

F = TypeVar("F", bound="Callable[..., Any]")
MAX_TRIES: Final = 5
_CREDENTIALS: Final = "/spec/template/spec/accessCredentials"


def key_options(function: F) -> F:
    """Declare the flags that specify the key."""
    for option in (
        click.option("--value", help="The SSH public key itself."),
        click.option("-f", "--file", type=click.Path(), metavar="FILE", help="File with the SSH public key."),
    ):
        function = option(function)
    return function


@click.command(
    "add-ssh-key",
    cls=Command,
    short_help="Add an SSH key to a VM.",
    examples=[
        Example("Add a key", "virtctl credentials add-ssh-key web --user jdoe --file ~/.ssh/id_ed25519.pub"),
        Example(
            "Add a key to a Secret that several VMs use",
            "virtctl credentials add-ssh-key web --user jdoe --file key.pub --secret keys --force",
        ),
        Example(
            "Add a key in a new Secret; a running guest gets it after a restart",
            "virtctl credentials add-ssh-key web --user jdoe --file key.pub --create-secret --force",
        ),
    ],
)
@vm_argument
@user_option
@key_options
@secret_option
@switch("--create-secret", default=False, help="Create a Secret for the key. A running VM also needs --force.")
@switch("--update-secret", default=False, help="Add the key to a Secret that the VM refers to.")
@force_option
@partial(connection_options, without=("user",))
def add(
    *,
    name: str,
    user: str,
    file: str | None,
    value: str | None,
    secret: str | None,
    create_secret: bool,
    update_secret: bool,
    force: bool,
    target: Target,
) -> None:
    """
    Add an SSH key for a user of the VM NAME.

    The key is added to the Secret that the VM uses for this user, and the guest agent adds it to the running guest. If
    the VM has no such Secret, one is created, and the VM uses it from its next start.
    """
    if create_secret and update_secret:
        raise click.UsageError(
            "--create-secret and --update-secret are mutually exclusive", click.get_current_context()
        )
    vm_name, keys = parse_vm_name(name), read_keys(file, value)

    async def add_keys(session: Session) -> str:
        vm = await get_vm(session, vm_name)
        assigned = list_ssh_secrets(vm, user)
        if create_secret or not (assigned or update_secret):
            return await assign_new_secret(session, vm, user, keys, force=force)
        if not assigned:
            step = f"Create a secret: virtctl credentials add-ssh-key {vm_name} --user {user} --create-secret ..."
            raise CommandError(f"no secrets specified for user: {user}", next_step=step)
        found = await get_secret(session, choose_secret(assigned, secret))
        new = [key for key in keys if not contains_key(found, key)]
        if not new:
            return f'Secret "{found.metadata.name}" already contains this SSH key.'
        if not force:
            require_ownership(found, vm)
        await change_secret(session, found, {name_key(): "\n".join(new)})
        return f'Successfully added the key to secret "{found.metadata.name}"'

    click.echo(run_session(target, add_keys))


@click.command(
    "remove-ssh-key",
    cls=Command,
    short_help="Remove an SSH key from a VM.",
    examples=[
        Example("Remove a key", "virtctl credentials remove-ssh-key web --user jdoe --file ~/.ssh/id_ed25519.pub"),
        Example(
            "Remove a key, given as text, from one Secret",
            'virtctl credentials remove-ssh-key web --user jdoe --value "ssh-ed25519 AAAA..." --secret keys',
        ),
    ],
)
@vm_argument
@user_option
@key_options
@secret_option
@force_option
@partial(connection_options, without=("user",))
def remove(
    *,
    name: str,
    user: str,
    file: str | None,
    value: str | None,
    secret: str | None,
    force: bool,
    target: Target,
) -> None:
    """
    Remove an SSH key of a user of the VM NAME.

    The key is removed from all Secrets that the VM uses for this user, or only from the one that --secret names. The
    guest agent removes it from the running guest. The comment at the end of the key does not matter.
    """
    vm_name, keys = parse_vm_name(name), read_keys(file, value)

    async def remove_keys(session: Session) -> list[str]:
        vm = await get_vm(session, vm_name)
        assigned = list_ssh_secrets(vm, user)
        if not assigned:
            return [f"No secrets associated with user {user}"]
        if secret and secret not in assigned:
            raise CommandError(f"secret {secret} is not associated with user {user}", assigned)
        return [
            await remove_from_secret(session, vm, each, keys, force=force)
            for each in ([secret] if secret else assigned)
        ]

    for line in run_session(target, remove_keys):
        click.echo(line)


def read_keys(file: str | None, value: str | None) -> list[str]:
    """Return the public keys in the file or the value, which has one key per line."""
    if (file is None) == (value is None):
        raise click.UsageError("exactly one of --file and --value is required", click.get_current_context())
    text = value if value is not None else Path(str(file)).expanduser().read_text(errors="replace")
    if "PRIVATE KEY" in text:
        step = "Use the file of the public key, such as id_ed25519.pub."
        raise ArgumentError("the key is a private key, which must not leave this machine", next_step=step)
    keys = [key for line in text.splitlines() if (key := line.strip()) and not key.startswith("#")]
    if not keys or not all(is_public_key(key) for key in keys):
        step = "For example: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... user@host"
        raise ArgumentError("invalid SSH public key: must be a type and a key in base64", next_step=step)
    return keys


def is_public_key(line: str) -> bool:
    """Return True if the line contains a key type and a key, as in authorized_keys: options may precede them."""
    return any(_has_type(key, kind) for kind, key in pairwise(line.split()))


def _has_type(key: str, kind: str) -> bool:
    """Return True if the key, in base64, begins with the length and the name of its type."""
    try:
        return b64decode(key, validate=True).startswith(len(kind).to_bytes(4, "big") + kind.encode())
    except ValueError:
        return False


def is_same_key(line: str, key: str) -> bool:
    """Return True if the line of a Secret contains this key; the comments of both are ignored."""
    return line.split()[:2] == key.split()[:2] or line.strip() == key


def name_key() -> str:
    """Return a new name for an entry with SSH keys in a Secret's data."""
    return f"ssh-key-{secrets.token_hex(3)}"


def read_values(secret: "Secret") -> dict[str, str]:
    """Return the values of a Secret as text."""
    return {name: b64decode(value).decode(errors="replace") for name, value in (secret.data or {}).items()}


def contains_key(secret: "Secret", key: str) -> bool:
    """Return True if the Secret contains this SSH key."""
    return any(is_same_key(line, key) for text in read_values(secret).values() for line in text.splitlines())


def without_keys(values: Mapping[str, str], keys: Sequence[str]) -> dict[str, str | None]:
    """Return the values that change if the keys are removed; a value becomes None if no key remains in it."""
    changed: dict[str, str | None] = {}
    for name, text in values.items():
        lines = text.splitlines()
        kept = [line for line in lines if not any(is_same_key(line, key) for key in keys)]
        if kept != lines:
            changed[name] = "\n".join(kept) if any(line.strip() for line in kept) else None
    return changed


async def assign_new_secret(
    session: Session, vm: "VirtualMachine", user: str, keys: Sequence[str], *, force: bool
) -> str:
    """Create a Secret that belongs to the VM, refer to it in the VM, and return the message to print."""
    from msgspec.structs import replace

    from virtshape.api.core.config import Secret
    from virtshape.api.meta import ObjectMeta
    from virtshape.api.ownerreferences import make_owner_reference
    from virtshape.api.status import StatusError

    name = vm.metadata.name or ""
    if not force:
        await require_stopped(session, name)
    owner = replace(
        make_owner_reference(vm), block_owner_deletion=None
    )  # True requires permission to update the VM's finalizers
    metadata = ObjectMeta(generate_name=f"{name}-ssh-key-", namespace=session.namespace, owner_references=[owner])
    data = {name_key(): "\n".join(keys)}
    stored = await session.client.create(Secret(api_version="v1", kind="Secret", metadata=metadata, string_data=data))
    created = stored.metadata.name or ""
    try:
        await refer_to_secret(session, vm, created, user)
    except StatusError:
        await session.client.delete(Secret, created, session.namespace)
        raise
    return f'Successfully created secret "{created}" with the key and assigned it to VM {name}'


async def require_stopped(session: Session, name: str) -> None:
    """Raise CommandError if the VM has an instance, which would not receive the keys of a new Secret."""
    from virtshape.api.kubevirt.instance import VirtualMachineInstance
    from virtshape.api.status import StatusError

    try:
        await session.client.get(VirtualMachineInstance, name, session.namespace)
    except StatusError as error:
        if error.code != 404:
            raise
        return
    message = f"virtual machine {name} is running"
    step = "Use --force flag to update a running VM, it will take effect after restart."
    raise CommandError(message, next_step=step)


async def refer_to_secret(session: Session, vm: "VirtualMachine", secret: str, user: str) -> None:
    """Add access credentials with the Secret to the VM."""
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine

    method = {"qemuGuestAgent": {"users": [user]}}
    credential = {"sshPublicKey": {"source": {"secret": {"secretName": secret}}, "propagationMethod": method}}
    patch: list[dict[str, Any]] = [{"op": "add", "path": f"{_CREDENTIALS}/-", "value": credential}]
    if not list_credentials(vm):
        absent = {"op": "test", "path": "/metadata/resourceVersion", "value": vm.metadata.resource_version}
        patch = [absent, {"op": "add", "path": _CREDENTIALS, "value": [credential]}]
    await session.client.patch(VirtualMachine, vm.metadata.name or "", session.namespace, patch=patch, how="json")


async def remove_from_secret(
    session: Session, vm: "VirtualMachine", name: str, keys: Sequence[str], *, force: bool
) -> str:
    """Remove keys from a Secret, and retry on a conflict with another change; return the message to print."""
    from virtshape.api.status import StatusError

    for attempt in range(1, MAX_TRIES + 1):
        try:
            secret = await get_secret(session, name)
            if not force:
                require_ownership(secret, vm)
            changed = without_keys(read_values(secret), keys)
            if not changed:
                return f'Secret "{name}" does not contain this SSH key.'
            await change_secret(session, secret, changed)
        except StatusError as error:
            if error.code == 404:
                return f'Secret "{name}" does not exist.'
            if error.code != 409 or attempt == MAX_TRIES:
                raise
        else:
            break
    return f'Successfully removed the key from secret "{name}"'
